package reflector_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// object is a ConfigMap of which only the metadata counts.
type object struct {
	metav1.ObjectMeta `json:"metadata"`
}

// verified is a reflector that verifies its copy every 10 minutes against a server of
// which it knows nothing.
type verified struct {
	t      *testing.T
	server *apitest.Server
	known  *store.Store[*object]

	mu      sync.Mutex
	deltas  []string
	reports []string
}

func (v *verified) note(list *[]string, line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*list = append(*list, line)
}

// runVerified runs test with a reflector that has synced with objects a, b and c.
func runVerified(t *testing.T, test func(v *verified)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := &verified{t: t, server: apitest.New(apitest.Options{})}
		for _, name := range []string{"a", "b", "c"} {
			v.create(name)
		}
		client, err := transport.NewClient(transport.Config{Server: "http://apitest", Dial: inMemory(t, v.server)})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		lw, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*object]{})
		if err != nil {
			t.Fatal(err)
		}
		metadata, err := lw.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		known := store.New(store.Options[*object]{})
		v.known = known
		queue := deltafifo.New(deltafifo.Options[*object]{Known: known})
		r := reflector.New(lw, queue, reflector.Options{
			Verify: reflector.Verify{Every: 10 * time.Minute, Metadata: metadata},
			Rand:   func() float64 { return 0 },
			Trace: &reflector.Trace{
				Problem:  func(p reflector.Problem) { v.note(&v.reports, p.Class.String()+" "+p.Key) },
				Verified: func(reflector.Verified) { v.note(&v.reports, "verified") },
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, 2)
		go func() {
			_ = r.Run(ctx)
			done <- struct{}{}
		}()
		go func() {
			var err error
			for err == nil {
				err = queue.Pop(ctx, func(e deltafifo.Entry[*object]) error { return v.apply(known, e) })
			}
			done <- struct{}{}
		}()
		synctest.Wait()
		v.mu.Lock()
		v.deltas = nil
		v.mu.Unlock()
		test(v)
		cancel()
		<-done
		<-done
		if err := v.server.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (v *verified) apply(known *store.Store[*object], e deltafifo.Entry[*object]) error {
	for _, d := range e.Deltas {
		line := d.Type.String() + " " + e.Key
		if d.Tombstone != nil {
			line += " inferred"
		}
		if d.Type == deltafifo.Deleted {
			v.note(&v.deltas, line)
			if err := known.Delete(d.Object); err != nil {
				return err
			}
			continue
		}
		if old, ok := known.Get(e.Key); !ok || old.ResourceVersion != d.Object.ResourceVersion {
			v.note(&v.deltas, line)
		}
		if err := known.Update(d.Object); err != nil {
			return err
		}
	}
	return nil
}

func (v *verified) create(name string) {
	v.t.Helper()
	_, err := v.server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}})
	if err != nil {
		v.t.Fatal(err)
	}
}

// expect compares what came of a period.
func (v *verified) expect(deltas, reports []string) {
	v.t.Helper()
	<-time.After(11 * time.Minute)
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	if !slices.Equal(v.deltas, deltas) {
		v.t.Errorf("deltas are %q, want %q", v.deltas, deltas)
	}
	if !slices.Equal(v.reports, reports) {
		v.t.Errorf("reports are %q, want %q", v.reports, reports)
	}
	v.deltas, v.reports = nil, nil
}

func TestVerifyFindsNothingWhereNothingIs(t *testing.T) {
	runVerified(t, func(v *verified) {
		v.create("d")
		v.expect([]string{"Added default/d"}, []string{"verified"})
		v.expect(nil, []string{"verified"})
	})
}

// The server loses one event, and nobody would ever know.
func TestVerifyRepairsALostDeletion(t *testing.T) {
	runVerified(t, func(v *verified) {
		if err := v.server.DropEvent("DELETED", 1); err != nil {
			v.t.Fatal(err)
		}
		if _, err := v.server.Delete("configmaps", "default", "b"); err != nil {
			v.t.Fatal(err)
		}
		v.create("d") // the resume point moves past the deletion
		v.expect([]string{"Added default/d", "Deleted default/b inferred"}, []string{"drift default/b", "verified"})
		v.expect(nil, []string{"verified"})
	})
}

func TestVerifyRepairsALostChange(t *testing.T) {
	runVerified(t, func(v *verified) {
		if err := v.server.DropEvent("MODIFIED", 1); err != nil {
			v.t.Fatal(err)
		}
		if _, err := v.server.Patch("configmaps", "default", "c", map[string]any{"data": map[string]any{"k": "v"}}); err != nil {
			v.t.Fatal(err)
		}
		v.create("d")
		v.expect([]string{"Added default/d", "Replaced default/c"}, []string{"drift default/c", "verified"})
		v.expect(nil, []string{"verified"})
	})
}

// What a list takes from the sink is no repair where the sink is what is wrong: after a
// difference everything is decoded.
func TestVerifyTakesNothingFromTheSink(t *testing.T) {
	runVerified(t, func(v *verified) {
		before, _ := v.known.Get("default/a")
		if err := v.server.DropEvent("DELETED", 1); err != nil {
			v.t.Fatal(err)
		}
		if _, err := v.server.Delete("configmaps", "default", "b"); err != nil {
			v.t.Fatal(err)
		}
		v.create("d")
		v.expect([]string{"Added default/d", "Deleted default/b inferred"}, []string{"drift default/b", "verified"})
		if after, ok := v.known.Get("default/a"); !ok || after == before {
			v.t.Error("an object of the sink was taken for the server's")
		}
	})
}

// A version that the server has compacted is compared all the same, object by object.
func TestVerifyWithoutTheExactVersion(t *testing.T) {
	runVerified(t, func(v *verified) {
		v.server.Compact()
		v.expect(nil, []string{"verified"})
	})
}

// A server that cannot be asked is reported, and asked again later.
func TestVerifyThatFails(t *testing.T) {
	runVerified(t, func(v *verified) {
		if err := v.server.FailNext(apitest.Failure{Verb: "list", Count: 2, Status: http.StatusForbidden}); err != nil {
			v.t.Fatal(err)
		}
		v.expect(nil, []string{"list "})
		v.expect(nil, []string{"verified"})
	})
}

// Both sinks of this module can be verified.
var (
	_ reflector.Held = (*store.Store[*object])(nil)
	_ reflector.Held = (*deltafifo.Queue[*object])(nil)
)
