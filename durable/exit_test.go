package durable_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
)

// If a call of a copy ends its goroutine, as t.FailNow does in a test, the mirrors end and say so,
// whichever call it is.
func TestCopyThatEndsItsGoroutine(t *testing.T) {
	const commit = 3 // calls: Begin, Write and Commit, on the goroutine of a timer
	for n, late := 1, 0; late < commit; n++ {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.create("a", "web", nil)
			configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
			must.OK(t, err)
			mirror := func(to durable.Copy[*thing]) *durable.Mirror[*thing] {
				m, err := durable.New(configs, to, durable.Options{
					Stream: durable.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), Logger: slog.New(slog.DiscardHandler),
				})
				must.OK(t, err)
				return m
			}
			calls, exits := 0, r.place.open(t)
			exits.fail = func(string) (error, error) {
				if calls++; calls == n {
					runtime.Goexit()
				}
				return nil, nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			ended := make(chan error, 1)
			var index int
			go func() {
				var err error
				index, err = durable.RunAll(ctx, mirror(newPlace().open(t)), mirror(exits))
				ended <- err
			}()
			later(time.Second)
			if calls < n {
				late++ // the copy is open, and the list is committed
			}
			r.create("a", "db", nil)
			later(10 * time.Second)
			if calls < n {
				t.Fatalf("there are %d calls only", calls)
			}
			cancel()
			if err := <-ended; !errors.Is(err, goexit.Err) || index != 1 {
				t.Errorf("call %d: mirror %d has ended with %v", n, index, err)
			}
		})
	}
}
