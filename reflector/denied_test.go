package reflector_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// One of several types may not be read, or is answered with the login page of a proxy.
// The others are there at once; the status of that one says what is wrong,
// since when, and when it is tried again, never later than the cap and its jitter; and it
// is there soon after it may be read.
func TestOneTypeThatCannotBeHad(t *testing.T) {
	for name, failure := range map[string]apitest.Failure{
		"forbidden":      {Status: http.StatusForbidden},
		"removed":        {Status: http.StatusNotFound},
		"not acceptable": {Status: http.StatusNotAcceptable},
		"a login page":   {Status: http.StatusOK, Raw: []byte("<html>Log in</html>"), ContentType: "text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { oneType(t, failure) })
		})
	}
}

func oneType(t *testing.T, failure apitest.Failure) {
	const bad, longest = "secrets", 60 * time.Second // 30 s, and up to as much at random
	server := apitest.New(apitest.Options{})
	defer server.Close()
	failure.Verb, failure.Resource, failure.Count = "list", bad, 20
	if err := server.FailNext(failure); err != nil {
		t.Fatal(err)
	}
	client, err := transport.NewClient(transport.Config{Server: "http://api.example", Dial: inMemory(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	begun := time.Now()
	reflectors := map[string]*reflector.Reflector[*metav1.PartialObjectMetadata]{}
	for _, resource := range []string{"configmaps", bad, "pods", "nodes", "services"} {
		lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: resource}, listwatch.Options[*metav1.PartialObjectMetadata]{})
		if err != nil {
			t.Fatal(err)
		}
		sink := store.New(store.Options[*metav1.PartialObjectMetadata]{})
		reflectors[resource] = reflector.New(lw, reflector.InMemory(sink), reflector.Options{})
		go reflectors[resource].Run(ctx) //nolint:errcheck // it ends with ctx
	}
	synctest.Wait()
	for resource, r := range reflectors {
		if got := r.Status().Synced; got == (resource == bad) {
			t.Errorf("%s: synced is %v", resource, got)
		}
	}

	secrets := reflectors[bad]
	for range 10 {
		status := secrets.Status()
		if status.LastError == nil || !status.FailingSince.Equal(begun) || status.Synced {
			t.Fatalf("status %+v, want a failure since the beginning", status)
		}
		if wait := time.Until(status.NextRetry); wait < 0 || wait > longest {
			t.Fatalf("the next try is in %v, want at most %v", wait, longest)
		}
		if failure.Status == http.StatusForbidden && !apierrors.IsForbidden(status.LastError) {
			t.Fatalf("the last error is %v", status.LastError)
		}
		<-time.After(time.Until(status.NextRetry) + time.Millisecond)
		synctest.Wait()
	}
	for range 10 { // and then it can be had
		<-time.After(longest)
	}
	synctest.Wait()
	if status := secrets.Status(); !status.Synced || !status.FailingSince.IsZero() {
		t.Errorf("status %+v, want that it has recovered", status)
	}
}
