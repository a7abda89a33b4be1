package sink_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/sink"
)

// A program may recover from a panic of its Copy, and call Run again, whatever the call was.
func TestRunAfterPanic(t *testing.T) {
	for _, initial := range []reflector.Initial{reflector.ListAny, reflector.Watch} {
		for at := range 40 {
			synctest.Test(t, func(t *testing.T) { runAfterPanic(t, initial, at) })
		}
	}
}

func runAfterPanic(t *testing.T, initial reflector.Initial, at int) {
	r := newRig(t)
	for i := range 25 {
		r.create("a", fmt.Sprint("o", i), nil)
	}
	configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	to := r.place.open(t)
	calls, panicked := 0, false
	to.fail = func(call string) (error, error) {
		if calls++; calls == at+1 {
			panic("the database driver: " + call)
		}
		return nil, nil
	}
	m, err := sink.New(configs, to, sink.Options{
		Stream: sink.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), BatchRows: 10, BatchDelay: -1,
		Reflector: reflector.Options{Initial: initial}, Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			func() {
				defer func() {
					if recover() != nil {
						panicked = true
					}
				}()
				_ = m.Run(ctx)
			}()
		}
	}()
	later(time.Minute)
	for i := range 5 {
		if _, err := r.server.Delete("configmaps", "a", fmt.Sprint("o", i)); err != nil {
			t.Fatal(err)
		}
		r.create("b", fmt.Sprint("o", i), nil)
	}
	later(time.Minute)
	r.refuse(time.Second)
	later(time.Millisecond)
	if _, err := r.server.Delete("configmaps", "a", "o7"); err != nil {
		t.Fatal(err)
	}
	r.create("b", "last", nil)
	r.server.Compact()
	later(time.Minute)
	s := m.Status()
	cancel()
	<-ended
	if !panicked && at < 20 {
		t.Errorf("call %d: no panic: the test has become harmless", at)
	}
	items, version, err := r.server.List("configmaps", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.place.rows) != len(items) || s.Committed.Point.Version != version || s.Pending != 0 {
		t.Errorf("a panic in call %d: %d rows at version %q, %d changes wait; want %d at %s", at, len(r.place.rows), s.Committed.Point.Version, s.Pending, len(items), version)
	}
	for _, item := range items {
		meta := item["metadata"].(map[string]any)
		key := fmt.Sprint(meta["namespace"], "/", meta["name"])
		if got := r.place.rows[key].meta.ResourceVersion; got != meta["resourceVersion"] {
			t.Errorf("a panic in call %d: the row of %s is at %q, want %v", at, key, got, meta["resourceVersion"])
		}
	}
}

// A change that waits for its transaction is committed when a timer fires. A panic of the Copy then comes out of Run, too: on the
// goroutine of the timer, no program could recover from it.
func TestPanicOfADelayedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "first", nil)
		configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
		if err != nil {
			t.Fatal(err)
		}
		to := r.place.open(t)
		var armed atomic.Bool
		to.fail = func(call string) (error, error) {
			if call == "write" && armed.Swap(false) {
				panic("the database driver")
			}
			return nil, nil
		}
		m, err := sink.New(configs, to, sink.Options{
			Stream: sink.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan any, 1)
		run := func() {
			defer func() { ended <- recover() }()
			if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Run returned %v", err)
			}
		}
		go run()
		later(time.Minute)
		armed.Store(true)
		r.create("a", "second", nil)
		later(time.Minute)
		select {
		case v := <-ended:
			if text := fmt.Sprint(v); !strings.Contains(text, "the database driver") || !strings.Contains(text, "TestPanicOfADelayedCommit") {
				t.Errorf("Run panicked with %s, want the panic of the Copy and where that was", text)
			}
		default:
			t.Fatal("Run goes on")
		}
		go run()
		later(time.Minute)
		if _, ok := r.place.rows["a/second"]; !ok || len(r.place.rows) != 2 {
			t.Errorf("%d rows", len(r.place.rows))
		}
		cancel()
		if v := <-ended; v != nil {
			t.Errorf("Run panicked with %v", v)
		}
	})
}
