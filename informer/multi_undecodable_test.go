package informer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

// An object that cannot be used, and is alone in its namespace, holds up the handlers only until
// the store has an object of another namespace. Before that, nothing shows that the type of the
// program is right.
func TestMultiUndecodableNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		write := func(_ string, err error) {
			t.Helper()
			must.OK(t, err)
			synctest.Wait()
		}
		write(server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "b", "name": "alone"}}))
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
		must.OK(t, err)
		defer client.Close()
		multi := informer.NewMultiNamespace(func(namespace string) (source.ListWatcher[*thing], error) {
			return listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*thing]{
				Namespace: namespace,
				Transform: func(obj *thing) (*thing, error) {
					if obj.Labels["good"] == "" {
						return nil, errors.New("it is not good")
					}
					return obj, nil
				},
			})
		}, informer.Options[*thing]{Logger: silent})
		var d diary
		h := d.handler()
		h.OnSynced = func() { d.write("synced") }
		if _, err := multi.AddHandler(h); err != nil {
			t.Fatal(err)
		}
		must.OK(t, errors.Join(multi.Add("a"), multi.Add("b")))
		stop := running(t, multi)
		waitForSync := func() error {
			wait, over := context.WithTimeout(t.Context(), time.Hour)
			defer over()
			return multi.WaitForSync(wait)
		}
		if err := waitForSync(); err == nil || !strings.Contains(err.Error(), `1 of 2 namespaces have not synced`) || !strings.Contains(err.Error(), "it is not good") {
			t.Errorf("no object could be used, and WaitForSync says: %v", err)
		}
		good := map[string]any{"metadata": map[string]any{"labels": map[string]any{"good": "yes"}}}
		write(server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "a", "name": "x", "labels": map[string]any{"good": "yes"}}}))
		if err := waitForSync(); err != nil {
			t.Error(err)
		}
		d.expect(t, "add a/x=0; synced")
		if status := multi.Status()[1]; status.Namespace != "b" || len(status.Quarantined) != 1 {
			t.Errorf("the status of b is %+v", status)
		}
		write(server.Patch("configmaps", "b", "alone", good))
		d.expect(t, "add b/alone=0")
		stop()
	})
}
