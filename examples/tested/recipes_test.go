package tested

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// inMemory starts a server, and Follow against it. Call it in a bubble.
func inMemory(t *testing.T, names ...string) (*apitest.Server, <-chan string) {
	t.Helper()
	server, listener := apitest.StartInMemory(t, apitest.Options{})
	for _, name := range names {
		must(t)(server.Create("configmaps", configMap(name)))
	}
	changes := follow(t, transport.Config{Server: listener.URL, Dial: listener.Dial}, reflector.Options{})
	for _, name := range names {
		want(t, changes, "added shop/"+name)
	}
	if err := server.WaitForWatches(t.Context(), "configmaps", 1); err != nil {
		t.Fatal(err)
	}
	return server, changes
}

// A load balancer moves the client to a replica whose watch cache still has a deleted
// object. The client does not report the object again.
func TestReplicaBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, changes := inMemory(t, "tea")
		behind := server.Replica("b")
		behind.Freeze()
		must(t)(server.Delete("configmaps", "shop", "tea"))
		want(t, changes, "deleted shop/tea")

		server.Route(behind)
		if err := server.FailNext(apitest.Failure{Verb: "watch", Status: 410, Reason: "Expired"}); err != nil {
			t.Fatal(err)
		}
		server.CutWatches(0) // the next watch gets the 410, and then comes a list
		time.Sleep(time.Minute)
		behind.Unfreeze()
		must(t)(server.Create("configmaps", configMap("milk")))
		if change := <-changes; change != "added shop/milk" {
			t.Error(change)
		}
	})
}

// etcd is restored from a backup that lacks an object. No event says that the object is
// gone, and the server numbers its next writes with versions that the client has seen.
func TestRestoredBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, changes := inMemory(t, "coffee")
		backup := server.ResourceVersion()
		must(t)(server.Create("configmaps", configMap("tea")))
		want(t, changes, "added shop/tea")

		if err := server.Restore(apitest.Restore{ResourceVersion: backup}); err != nil {
			t.Fatal(err)
		}
		if change := <-changes; change != "gone shop/tea" {
			t.Error(change)
		}
	})
}

// An event has an object that does not fit the type of the program. The client gets the
// object by another request.
func TestUndecodableObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, changes := inMemory(t, "tea")
		if err := server.Rewrite(apitest.Rewrite{Name: "tea", Patch: map[string]any{"data": 5}}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		must(t)(server.Patch("configmaps", "shop", "tea", map[string]any{"data": map[string]any{"price": "3"}}))
		if change := <-changes; change != "updated shop/tea" {
			t.Error(change)
		}
		if took := time.Since(began); took < time.Second {
			t.Errorf("the change came after %v, and so from the event", took)
		}
	})
}

// A handler is busy while an object changes 100 times. It is called once more, with the
// last state.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		must(t)(server.Create("configmaps", configMap("tea")))
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Hour)
		defer stop()
		calls := 0
		go func() {
			time.Sleep(time.Minute)
			for range 100 {
				if _, err := server.Patch("configmaps", "shop", "tea", map[string]any{"data": map[string]any{"at": time.Now().String()}}); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
			}
		}()
		config := transport.Config{Server: listener.URL, Dial: listener.Dial}
		err := Follow(ctx, config, reflector.Options{}, func(_, _ string) {
			calls++
			time.Sleep(time.Hour)
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if calls != 2 {
			t.Errorf("%d calls, want one for the addition and one for all updates", calls)
		}
	})
}

// The server refuses the first list with 429. The client waits as long as the server says.
func TestTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		must(t)(server.Create("configmaps", configMap("tea")))
		if err := server.FailNext(apitest.Failure{Verb: "list", Status: 429, RetryAfter: 20 * time.Second}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		changes := follow(t, transport.Config{Server: listener.URL, Dial: listener.Dial}, reflector.Options{})
		<-changes
		if took := time.Since(began); took < 20*time.Second {
			t.Errorf("the client asked again after %v", took)
		}
	})
}
