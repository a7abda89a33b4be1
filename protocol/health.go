package protocol

import "time"

// health remembers since when requests have been failing. The machine reports that in [Status].
type health struct {
	// failing is when requests began to fail: no watch has been open since. While a watch is open, it is zero.
	failing time.Time

	// watchAccepted is when the server accepted the last watch, and failingBefore is the value that failing had before that. If
	// the watch fails soon, failing gets that value back: some servers accept a watch, and then say that the version is gone.
	// Both are zero once the watch has brought something.
	failingBefore, watchAccepted time.Time
}

// fail notes and reports that a request, or the sink, has failed.
func (m *Machine) fail(now time.Time, err error) {
	h := &m.health
	if h.failing.IsZero() {
		h.failing = now
		if !h.failingBefore.IsZero() && now.Sub(h.watchAccepted) < healthy {
			h.failing = h.failingBefore
		}
		h.failingBefore, h.watchAccepted = time.Time{}, time.Time{}
	}
	m.emit(Failing{err})
}

// opened notes that a watch was accepted.
func (h *health) opened(now time.Time) {
	if !h.failing.IsZero() {
		*h = health{failingBefore: h.failing, watchAccepted: now}
	}
}

// good notes that a watch has brought something.
func (h *health) good() { h.failingBefore, h.watchAccepted = time.Time{}, time.Time{} }
