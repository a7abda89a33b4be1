package informer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
)

// idle is the logger of tests that do not look at the log.
var silent = slog.New(slog.DiscardHandler)

// rig is an informer that runs in a synctest bubble against a fake server.
type rig struct {
	*informer.Informer[*thing]
	t    *testing.T
	fake *fake
	stop context.CancelFunc
	done chan error
}

func newRig(t *testing.T, f *fake, opts informer.Options[*thing]) *rig {
	t.Helper()
	opts.Reflector.Rand = func() float64 { return 0 }
	if opts.Logger == nil {
		opts.Logger = silent
	}
	return &rig{Informer: informer.New(f, opts), t: t, fake: f, done: make(chan error, 1)}
}

// start runs the informer until the test ends, which fails if the informer does not say why it
// ended.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop = cancel
	go func() { r.done <- r.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-r.done; !errors.Is(err, context.Canceled) {
			r.t.Errorf("Run returned %v, want %v", err, context.Canceled)
		}
		r.done <- nil
	})
	synctest.Wait()
}

// running runs an informer or a group until stop is called.
func running(t *testing.T, in interface{ Run(context.Context) error }) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := inBackground(func() error { return in.Run(ctx) })
	return func() {
		t.Helper()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v, want %v", err, context.Canceled)
		}
	}
}

func (r *rig) add(h informer.Handler[*thing]) *informer.Registration {
	r.t.Helper()
	registration, err := r.AddHandler(h)
	if err != nil {
		r.t.Fatal(err)
	}
	return registration
}

// diary is a handler that writes down what it is told.
type diary struct {
	mu    sync.Mutex
	lines []string

	// hold, if it is not nil, is called by each callback before it writes.
	hold func(line string)
}

func (d *diary) handler() informer.Handler[*thing] {
	return informer.Handler[*thing]{
		OnAdd: func(obj *thing, initial bool) {
			d.write(fmt.Sprintf("add %s=%d%s", object.Key(obj), obj.Value, when(initial, " initial")))
		},
		OnUpdate: func(old, obj *thing) {
			d.write(fmt.Sprintf("update %s=%d->%d", object.Key(obj), old.Value, obj.Value))
		},
		OnDelete: func(obj *thing, inferred bool) {
			d.write(fmt.Sprintf("delete %s=%d%s", object.Key(obj), obj.Value, when(inferred, " inferred")))
		},
	}
}

func when(cond bool, text string) string {
	if cond {
		return text
	}
	return ""
}

func (d *diary) write(line string) {
	if d.hold != nil {
		d.hold(line)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.lines = nil }()
	return strings.Join(d.lines, "; ")
}

// expect waits until nothing moves any more and compares what was written since the last time.
func (d *diary) expect(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	if got := d.take(); got != want {
		t.Errorf("handler was told\n\t%s\nwant\n\t%s", got, want)
	}
}

// agree fails unless the store is what the server holds.
func (r *rig) agree() {
	r.t.Helper()
	synctest.Wait()
	if got, want := describe(r.Store().List()), r.fake.state(); !slices.Equal(got, want) {
		r.t.Errorf("store holds\n\t%q\nserver\n\t%q", got, want)
	}
}

// later lets virtual time pass.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func onNamed(name string, f func()) func(*thing, bool) {
	return func(obj *thing, _ bool) {
		if obj.Name == name {
			f()
		}
	}
}
