package mirror

import (
	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/reflector"
)

// Lines returns a trace that reports what a reflector does, each as a line.
func Lines(line func(report.Line)) *reflector.Trace {
	return &reflector.Trace{
		ListDone: func(l reflector.ListDone) {
			if l.Err != nil {
				return // what follows tells: a problem or a relist
			}
			line(report.List{ResourceVersion: l.ResourceVersion, Items: l.Items, Pages: l.Pages, Seconds: report.Seconds(l.Duration)})
		},
		WatchStart: func(w reflector.WatchStart) {
			line(report.Watch{ResourceVersion: w.ResourceVersion, TimeoutSeconds: report.Seconds(w.Timeout)})
		},
		Bookmark: func(rv string) { line(report.Bookmark{ResourceVersion: rv}) },
		WatchEnd: func(w reflector.WatchEnd) {
			line(report.WatchEnd{
				ResourceVersion: w.ResourceVersion,
				Reason:          w.Reason.String(),
				Message:         connect.Cause(w.Err),
				Events:          w.Events,
				Seconds:         report.Seconds(w.Duration),
			})
		},
		Relist: func(r reflector.Relist) {
			line(report.Relist{ResourceVersion: r.ResourceVersion, Reason: r.Reason.String(), Message: connect.Cause(r.Err)})
		},
		Backoff: func(b reflector.Backoff) {
			line(report.Backoff{Seconds: report.Seconds(b.Delay), Reason: b.Reason.String()})
		},
		Problem: func(p reflector.Problem) {
			line(report.Problem{Class: p.Class.String(), Key: p.Key, Message: p.Err.Error()})
		},
	}
}

// log returns a trace for the log. Who gives up says why once: with the error of Run.
func (m *Mirror) log() *reflector.Trace {
	if m.opts.Log == nil {
		return nil
	}
	t := reflector.LogTrace(m.opts.Log)
	backoff := t.Backoff
	t.Backoff = func(b reflector.Backoff) {
		if !m.gaveUp.Load() {
			backoff(b)
		}
	}
	return t
}

// trace counts what the reflector tells, for the summary.
func (m *Mirror) trace() *reflector.Trace {
	return &reflector.Trace{
		ListDone:   m.listDone,
		WatchStart: func(reflector.WatchStart) { m.count(func(s *report.Summary) { s.Watches++ }) },
		Event:      func(e reflector.Event) { m.advance(e.ResourceVersion) },
		Bookmark: func(rv string) {
			m.advance(rv)
			m.count(func(s *report.Summary) { s.Bookmarks++ })
		},
		Relist:  func(reflector.Relist) { m.count(func(s *report.Summary) { s.Relists++ }) },
		Synced:  m.checkSynced,
		Problem: func(reflector.Problem) { m.count(func(s *report.Summary) { s.Problems++ }) },
	}
}

// listDone notes a list that came, and lets the consumer at it.
func (m *Mirror) listDone(l reflector.ListDone) {
	if l.Err == nil {
		m.count(func(s *report.Summary) {
			s.ResourceVersion = l.ResourceVersion
			s.Lists++
		})
	}
	if m.held {
		m.held = false
		m.order.Unlock()
	}
	if m.opts.FailEarly && l.Err != nil && !m.listed() && connect.Hopeless(l.Err) {
		m.gaveUp.Store(true)
		m.hopeless = l.Err
		m.stop()
	}
}
