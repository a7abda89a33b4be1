package protocol

import "time"

// health is since when requests have been failing, for those who watch the reflector.
type health struct {
	// failing is when the first request failed after which no watch has been open; zero while one is.
	failing time.Time

	// before is what failing was before the last watch was accepted, and accepted is when it was. They are kept because the
	// watch may fail at once: some servers accept it, and then say that the version is gone. Both are zero once the watch
	// has brought something.
	before, accepted time.Time
}

// fail tells that a request, or the sink, has failed.
func (m *Machine) fail(now time.Time, err error) {
	h := &m.health
	if h.failing.IsZero() {
		h.failing = now
		if !h.before.IsZero() && now.Sub(h.accepted) < healthy {
			h.failing = h.before
		}
		h.before, h.accepted = time.Time{}, time.Time{}
	}
	m.emit(Failing{err})
}

// opened notes that a watch was accepted.
func (h *health) opened(now time.Time) {
	if !h.failing.IsZero() {
		*h = health{before: h.failing, accepted: now}
	}
}

// good notes that a watch has brought something.
func (h *health) good() { h.before, h.accepted = time.Time{}, time.Time{} }
