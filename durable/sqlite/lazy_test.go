package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/transport"
)

// namedPod lacks most fields of a Pod.
type namedPod struct {
	metav1.ObjectMeta `json:"metadata"`
}

type lazyPod = lazy.Object[*namedPod]

// The row of a lazy object is what the server sent, with the members that its type lacks.
func TestLazyObjects(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{Resources: []apitest.Resource{{Version: "v1", Plural: "pods", Kind: "Pod"}}})
	client, err := transport.NewClient(transport.Config{Server: url})
	must.OK(t, err)
	t.Cleanup(client.Close)
	encoding, err := lazy.New[*namedPod](lazy.Options{})
	must.OK(t, err)
	opts := listwatch.Options[*lazyPod]{Encoding: encoding}
	lazily, err := listwatch.New(client, pods, opts)
	must.OK(t, err)
	path := filepath.Join(t.TempDir(), "copy.db")
	db, err := sqlite.Open(path, sqlite.Options{})
	must.OK(t, err)
	t.Cleanup(func() { db.Close() })
	table, err := sqlite.New(db, durable.Table{Resource: pods, Columns: []string{"node=.spec.nodeName"}}, (*lazyPod).MarshalJSON)
	must.OK(t, err)
	create := func(name string) {
		pod := map[string]any{"metadata": map[string]any{"namespace": "n", "name": name}, "spec": map[string]any{"nodeName": "n1", "other": "<"}}
		if _, err := server.Create("pods", pod); err != nil {
			t.Error(err)
		}
	}
	create("listed")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	commits := 0
	mirror, err := durable.New(lazily, table, durable.Options{
		Stream: durable.StreamOf("c", pods, opts, ""), BatchDelay: -1,
		Trace: &durable.Trace{Commit: func(durable.Commit) {
			switch commits++; len(rows(t, path)) {
			case 1:
				if commits == 1 {
					create("watched")
				}
			case 2:
				cancel()
			}
		}},
	})
	must.OK(t, err)
	if err := mirror.Run(ctx); ctx.Err() == nil {
		t.Fatal(err)
	}
	copied := rows(t, path)
	if len(copied) != 2 {
		t.Errorf("rows: %q", copied)
	}
	for _, row := range copied {
		pod, _, err := lazily.Get(t.Context(), row.Meta.Key)
		if err != nil || string(row.Object) != string(pod.Bytes()) {
			t.Errorf("the row is %s, and the object %s, %v", row.Object, pod.Bytes(), err)
		}
	}
}
