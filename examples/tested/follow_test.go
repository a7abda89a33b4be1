package tested

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// follow runs Follow until the test ends, and returns the changes that it reports.
func follow(t *testing.T, url string) <-chan string {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: url})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	changes, ended := make(chan string, 100), make(chan error, 1)
	go func() {
		fast := reflector.Options{BackoffBase: time.Millisecond} // 800ms if zero
		ended <- Follow(ctx, client, fast, func(what, key string) { changes <- what + " " + key })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		client.Close()
	})
	return changes
}

func configMap(name string) map[string]any {
	return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}}
}

// must ends the test if a call that returns a resourceVersion has failed.
func must(t *testing.T) func(string, error) {
	return func(_ string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func want(t *testing.T, changes <-chan string, change string) {
	t.Helper()
	select {
	case got := <-changes:
		if got != change {
			t.Errorf("%s, want %s", got, change)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("waited for %s", change)
	}
}

// An object is deleted while the client cannot reach the server, and the server
// forgets the deletion. The server refuses the watch with a 410, and a list shows that
// the object is gone.
func TestDeletionThatNobodySaw(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	must(t)(server.Create("configmaps", configMap("coffee")))
	must(t)(server.Create("configmaps", configMap("tea")))
	changes := follow(t, url)
	want(t, changes, "added shop/coffee")
	want(t, changes, "added shop/tea")

	if err := server.Refuse(0); err != nil {
		t.Fatal(err)
	}
	must(t)(server.Delete("configmaps", "shop", "tea"))
	server.Compact()
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	want(t, changes, "gone shop/tea")
}

// The server answers a watch with a 410. The relist that follows reports no object
// that has not changed.
func TestExpired(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	must(t)(server.Create("configmaps", configMap("tea")))
	changes := follow(t, url)
	want(t, changes, "added shop/tea")

	if err := server.FailNext(apitest.Failure{Verb: "watch", Status: 410, Reason: "Expired"}); err != nil {
		t.Fatal(err)
	}
	server.CutWatches(0)
	must(t)(server.Create("configmaps", configMap("milk")))
	want(t, changes, "added shop/milk")
}
