package reflector_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// slowStore takes a second for a list, as a database does.
type slowStore struct {
	*store.Store[*metav1.PartialObjectMetadata]
}

func (s slowStore) Replace(items []*metav1.PartialObjectMetadata, version string) error {
	<-time.After(time.Second)
	return s.Store.Replace(items, version)
}

// Many reflectors that start together over HTTP/1.1 make many connections, which are idle between
// list and watch. The server breaks none of them, so none of the reflectors asks whether it is
// still the same one.
func TestOrdinaryStartHasNoHistoryCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var questions atomic.Int64
		server, listener := apitest.StartInMemory(t, apitest.Options{Log: func(req apitest.LoggedRequest) {
			if strings.Contains(req.URI, "fieldSelector=") {
				questions.Add(1)
			}
		}})
		for _, name := range []string{"a", "b", "c"} {
			if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}}); err != nil {
				t.Fatal(err)
			}
		}
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial, Protocol: transport.ProtocolHTTP1})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range 100 {
			configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
				listwatch.Options[*metav1.PartialObjectMetadata]{})
			if err != nil {
				t.Fatal(err)
			}
			sink := reflector.InMemory(slowStore{store.New(store.Options[*metav1.PartialObjectMetadata]{})})
			running.Go(func() { _ = reflector.New(configMaps, sink, reflector.Options{}).Run(ctx) })
		}
		<-time.After(30 * time.Second)
		synctest.Wait()
		if n := questions.Load(); n > 0 {
			t.Errorf("%d questions", n)
		}
		stop()
		running.Wait()
	})
}
