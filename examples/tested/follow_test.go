package tested

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// follow runs Follow until the test ends, and returns the changes that it reports.
func follow(t *testing.T, server transport.Config, opts reflector.Options) <-chan string {
	t.Helper()
	changes, ended := make(chan string, 100), make(chan error, 1)
	go func() {
		ended <- Follow(t.Context(), server, opts, func(what, key string) { changes <- what + " " + key })
	}()
	t.Cleanup(func() { // the context of t has ended
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return changes
}

// fast is for a server on the real network, where the delays of production take seconds.
var fast = reflector.Options{BackoffBase: time.Millisecond}

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
	case <-time.After(2 * time.Minute):
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
	changes := follow(t, transport.Config{Server: url}, fast)
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
	changes := follow(t, transport.Config{Server: url}, fast)
	want(t, changes, "added shop/tea")

	if err := server.WaitForWatches(t.Context(), "configmaps", 1); err != nil { // CutWatches cuts those that are open
		t.Fatal(err)
	}
	if err := server.FailNext(apitest.Failure{Verb: "watch", Status: 410, Reason: "Expired"}); err != nil {
		t.Fatal(err)
	}
	server.CutWatches(0)
	must(t)(server.Create("configmaps", configMap("milk")))
	want(t, changes, "added shop/milk")
}

// The program cannot reach the server for an hour. In this time an object is deleted, and the
// server forgets the deletion.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		_, created := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "tea"}})
		time.AfterFunc(time.Hour, func() {
			refused := server.Refuse(time.Hour)
			_, deleted := server.Delete("configmaps", "shop", "tea")
			server.Compact() // no watch can tell the program of the deletion any more
			if err := errors.Join(created, refused, deleted); err != nil {
				t.Error(err)
			}
		})

		var said []string
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Hour)
		defer stop()
		config := transport.Config{Server: listener.URL, Dial: listener.Dial}
		err := Follow(ctx, config, reflector.Options{}, func(what, key string) { said = append(said, what+" "+key) })
		if want := []string{"added shop/tea", "gone shop/tea"}; !slices.Equal(said, want) {
			t.Errorf("the program said %q, want %q: %v", said, want, err)
		}
	})
}
