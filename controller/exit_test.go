package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/goexit"
)

// If a function of the program ends its goroutine, as t.FailNow does in a test, Run ends and says
// so, and no key stays with a worker.
func TestFunctionThatEndsItsGoroutine(t *testing.T) {
	for where, want := range map[string]string{
		"Reconcile": `reconcile "a"`, "OnReconciled": `reconcile "a"`, "Watches": "an observer", "Run of a Cache": "For(",
		"WaitForSync": "the Logger, or a source",
	} {
		for _, workers := range []int{1, 2} {
			t.Run(where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					end := func(here string) {
						if here == where {
							runtime.Goexit()
						}
					}
					q := controller.NewQueue[string](controller.QueueOptions{})
					opts := controller.Options{
						Workers: workers, Queue: q, Logger: slog.New(slog.DiscardHandler),
						OnReconciled: func(controller.Reconciled) { end("OnReconciled") },
					}
					reconcile := func(context.Context, string) (time.Duration, error) { end("Reconcile"); return 0, nil }
					f := newFake("a")
					if where == "WaitForSync" {
						f.Fail(errors.New("away"))
					}
					in := &exiting{cache(f), end}
					err := controller.Run(t.Context(), reconcile, opts,
						controller.For(in), controller.Watches(in, func(*thing) []string { end("Watches"); return nil }))
					if !errors.Is(err, goexit.Err) || !strings.Contains(err.Error(), want) {
						t.Errorf("Run returned %v", err)
					}
					if err := q.Drain(t.Context()); err != nil {
						t.Errorf("Drain returned %v", err)
					}
				})
			})
		}
	}
}

// exiting is a Cache of the program's own.
type exiting struct {
	*informer.Informer[*thing]
	end func(here string)
}

func (e *exiting) Run(ctx context.Context) error {
	e.end("Run of a Cache")
	return e.Informer.Run(ctx)
}

func (e *exiting) WaitForSync(ctx context.Context) error {
	e.end("WaitForSync")
	return e.Informer.WaitForSync(ctx)
}
