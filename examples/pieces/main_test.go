package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/transport"
)

// A first list, a watch, and a deletion that only a later list can show.
func TestPieces(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		must := func(_ string, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		configMap := func(name string) map[string]any {
			return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}}
		}
		must(server.Create("configmaps", configMap("a")))
		must(server.Create("configmaps", configMap("b")))

		var out bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, transport.Config{Server: listener.URL, Dial: listener.Dial}, &out) }()
		synctest.Wait()
		must(server.Patch("configmaps", "shop", "a", map[string]any{"data": map[string]any{"k": "v"}}))
		synctest.Wait()
		if err := server.Refuse(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		must(server.Delete("configmaps", "shop", "b"))
		must(server.Create("configmaps", configMap("c")))
		server.Compact() // the watch cannot go on, and a list follows
		<-time.After(time.Minute)
		synctest.Wait()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		want := `Replaced shop/a at 2
Replaced shop/b at 3
Updated  shop/a at 4
Replaced shop/a at 4
Replaced shop/c at 6
Deleted  shop/b at 3 (its final state is unknown)
`
		if out.String() != want {
			t.Errorf("got:\n%swant:\n%s", out.String(), want)
		}
	})
}
