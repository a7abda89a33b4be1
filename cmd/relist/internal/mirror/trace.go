package mirror

import (
	"github.com/relist-go/relist/internal/cli/connect"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/reflector"
)

// trace turns what the reflector tells into lines and counts, and passes it on.
func (m *Mirror) trace(next *reflector.Trace) *reflector.Trace {
	if next == nil {
		next = &reflector.Trace{}
	}
	t := &reflector.Trace{
		RunStart:  next.RunStart,
		ListStart: next.ListStart,
		WatchOpen: next.WatchOpen,
		Verified:  next.Verified,
		Event: func(e reflector.Event) {
			m.advance(e.ResourceVersion)
			call(next.Event, e)
		},
		Bookmark: func(rv string) {
			m.advance(rv)
			m.count(func(s *report.Summary) { s.Bookmarks++ })
			m.report(report.Bookmark{ResourceVersion: rv})
			call(next.Bookmark, rv)
		},
		Synced: func() {
			m.checkSynced()
			if next.Synced != nil {
				next.Synced()
			}
		},
		Problem: func(p reflector.Problem) {
			m.problem(report.Problem{Class: p.Class.String(), Key: p.Key, Message: p.Err.Error()})
			call(next.Problem, p)
		},
	}
	t.ListDone = func(l reflector.ListDone) {
		m.listDone(l)
		call(next.ListDone, l)
	}
	m.traceWatches(t, next)
	return t
}

// traceWatches fills in what concerns watches and pauses.
func (m *Mirror) traceWatches(t, next *reflector.Trace) {
	t.WatchStart = func(w reflector.WatchStart) {
		m.count(func(s *report.Summary) { s.Watches++ })
		m.report(report.Watch{ResourceVersion: w.ResourceVersion, TimeoutSeconds: report.Seconds(w.Timeout)})
		call(next.WatchStart, w)
	}
	t.WatchEnd = func(w reflector.WatchEnd) {
		m.report(report.WatchEnd{
			ResourceVersion: w.ResourceVersion,
			Reason:          w.Reason.String(),
			Message:         Cause(w.Err),
			Events:          w.Events,
			Seconds:         report.Seconds(w.Duration),
		})
		call(next.WatchEnd, w)
	}
	t.Relist = func(r reflector.Relist) {
		m.count(func(s *report.Summary) { s.Relists++ })
		m.report(report.Relist{ResourceVersion: r.ResourceVersion, Reason: r.Reason.String(), Message: Cause(r.Err)})
		call(next.Relist, r)
	}
	t.Backoff = func(b reflector.Backoff) {
		m.report(report.Backoff{Seconds: report.Seconds(b.Delay), Reason: b.Reason.String()})
		call(next.Backoff, b)
	}
}

// listDone reports a list that came, and lets the consumer at it. One that failed is
// reported by what follows: a problem or a relist.
func (m *Mirror) listDone(l reflector.ListDone) {
	if l.Err == nil {
		m.listedAt(l.ResourceVersion)
		m.count(func(s *report.Summary) { s.Lists++ })
		m.report(report.List{
			ResourceVersion: l.ResourceVersion,
			Items:           l.Items,
			Pages:           l.Pages,
			Seconds:         report.Seconds(l.Duration),
		})
	}
	if m.held {
		m.held = false
		m.order.Unlock()
	}
	if m.opts.FailEarly && l.Err != nil && !m.listed() && connect.Hopeless(l.Err) {
		m.gaveUp.Store(true)
		m.fail(&hopelessError{err: l.Err})
	}
}

func (m *Mirror) problem(p report.Problem) {
	m.count(func(s *report.Summary) { s.Problems++ })
	m.report(p)
}

func call[A any](f func(A), arg A) {
	if f != nil {
		f(arg)
	}
}
