package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
)

// A callback that panics ends the informer, and so the controller. Nothing else tells the panic, so Run returns it also if the context
// ends while another callback still runs.
func TestPanicOfACallbackIsToldAlthoughTheContextEnds(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			in := cache(newFake("a"))
			slow, bad := make(chan struct{}), make(chan struct{})
			for _, h := range []informer.Handler[*thing]{
				{Name: "slow", OnAdd: func(*thing, bool) { <-slow }},
				{Name: "bad", OnAdd: func(*thing, bool) { <-bad; panic("spoiled") }},
			} {
				if _, err := in.AddHandler(h); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- controller.Run(ctx, func(context.Context, string) (time.Duration, error) { return 0, nil },
					controller.Options{Logger: slog.New(slog.DiscardHandler)}, controller.For(in))
			}()
			steps := []func(){func() { close(bad) }, cancel}
			if late {
				steps[0], steps[1] = steps[1], steps[0]
			}
			for _, step := range steps {
				synctest.Wait()
				step()
			}
			synctest.Wait()
			close(slow)
			var panicked *informer.PanicError
			if err := <-done; !errors.As(err, &panicked) || panicked.Handler != "bad" {
				t.Errorf("Run returned %v, want the panic", err)
			}
		})
	}
}
