package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// view is what the client has been through so far.
type view struct {
	watching bool // a stream is open
	synced   bool

	opened       int // watches that were answered
	cuts         int // streams that broke
	unreachable  int // watches that found nobody
	inStream     int // 410 in an open stream
	asStatus     int // 410 as the answer to a watch
	onList       int // 410 as the answer to a list
	tokenExpired int // 410 as the answer to a continue token
	tooLarge     int // "Too large resource version"

	tombstones int
	events     int    // changes applied, without lists
	version    string // the newest that was applied

	scene string // the one that comes next
}

// live reports whether everything is as it should be.
func live(v view) bool { return v.synced && v.watching }

// has reports whether version has been applied.
func (v view) has(version string) bool {
	order, err := resourceversion.CompareResourceVersion(v.version, version)
	return err == nil && order >= 0
}

// watcher follows the client.
type watcher struct {
	mu       sync.Mutex
	view     view
	inferred int           // inferred deletions printed since the last scene
	changed  chan struct{} // closed at the next change
}

func newWatcher() *watcher { return &watcher{changed: make(chan struct{})} }

// change changes the view and wakes who waits for it.
func (w *watcher) change(f func(*view)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.view)
	close(w.changed)
	w.changed = make(chan struct{})
}

// now returns the view and a channel that is closed when it changes.
func (w *watcher) now() (view, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view, w.changed
}

// next notes which scene comes next.
func (w *watcher) next(scene string) {
	w.mu.Lock()
	w.inferred = 0
	w.mu.Unlock()
	w.change(func(v *view) { v.scene = scene })
}

// maxInferred is how many inferred deletions of one scene are printed.
const maxInferred = 3

// fewInferred counts an inferred deletion, and reports whether there were few.
func (w *watcher) fewInferred() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inferred++
	return w.inferred <= maxInferred
}

// patience is how long one step of a scene may take. On an idle machine none takes
// longer than three seconds.
const patience = 12 * time.Second

// await waits until the view is as wanted. The error says what did not come.
func (d *demo) await(ctx context.Context, what string, wanted func(view) bool) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		v, changed := d.watcher.now()
		if wanted(v) {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("waited %s for %s", patience, what)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// trace keeps the view up to date.
func (w *watcher) trace() *reflector.Trace {
	var open bool // of the present watch; owned by the reflector's goroutine
	return &reflector.Trace{
		Synced:     func() { w.change(func(v *view) { v.synced = true }) },
		WatchStart: func(reflector.WatchStart) { open = false },
		WatchOpen: func() {
			open = true
			w.change(func(v *view) { v.watching = true; v.opened++ })
		},
		WatchEnd: func(e reflector.WatchEnd) {
			w.change(func(v *view) { v.ended(e.Reason, open) })
		},
		ListDone: func(l reflector.ListDone) {
			if apierrors.IsResourceExpired(l.Err) || apierrors.IsGone(l.Err) {
				w.change(func(v *view) { v.onList++ })
			}
		},
		Relist: func(r reflector.Relist) {
			if r.Reason == protocol.TooLarge {
				w.change(func(v *view) { v.tooLarge++ })
			}
		},
	}
}

func (v *view) ended(reason reflector.Reason, open bool) {
	v.watching = false
	switch reason { //nolint:exhaustive // the others are not shown
	case protocol.Cut:
		v.cuts++
	case protocol.Unreachable:
		v.unreachable++
	case protocol.Expired:
		if open {
			v.inStream++
		} else {
			v.asStatus++
		}
	}
}
