package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// counts are what a Trace has heard. They are of the reflector's goroutine.
type counts struct{ relists, quarantined int }

// telling returns a Trace that counts, and that logs all it hears if one seed alone is
// run with -v.
func telling(t *testing.T, n *counts) *reflector.Trace {
	began := time.Now()
	tell := func(format string, args ...any) {
		if *one != 0 && testing.Verbose() {
			t.Logf("%12s %s", time.Since(began), fmt.Sprintf(format, args...))
		}
	}
	return &reflector.Trace{
		ListStart:  func(e reflector.ListStart) { tell("list at %q", e.ResourceVersion) },
		ListDone:   func(e reflector.ListDone) { tell("list of %d at %q: %v", e.Items, e.ResourceVersion, e.Err) },
		WatchStart: func(e reflector.WatchStart) { tell("watch from %q, initial events %t", e.ResourceVersion, e.Initial) },
		WatchOpen:  func() { tell("watch is open") },
		Event:      func(e reflector.Event) { tell("%v of %s, UID %s, at %s", e.Type, e.Key, e.UID, e.ResourceVersion) },
		Bookmark:   func(version string) { tell("bookmark at %s", version) },
		WatchEnd:   func(e reflector.WatchEnd) { tell("watch ended at %q: %v: %v", e.ResourceVersion, e.Reason, e.Err) },
		Backoff:    func(e reflector.Backoff) { tell("wait %s", e.Delay) },
		Relist: func(e reflector.Relist) {
			n.relists++
			tell("relist: %v", e.Reason)
		},
		Problem: func(e reflector.Problem) {
			if e.Class == protocol.ObjectProblem {
				n.quarantined++
			}
			tell("problem with %v %s: %v", e.Class, e.Key, e.Err)
		},
	}
}
