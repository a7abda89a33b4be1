package relistprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// counters are the metrics that a trace counts.
type counters struct {
	lists         *prometheus.CounterVec
	listed        *prometheus.CounterVec
	listDurations *prometheus.HistogramVec
	relists       *prometheus.CounterVec
	opened        *prometheus.CounterVec
	ended         *prometheus.CounterVec
	events        *prometheus.CounterVec
	backoffs      *prometheus.CounterVec
	problems      *prometheus.CounterVec
	verifications *prometheus.CounterVec
	differences   *prometheus.CounterVec
}

func newCounters() counters {
	return counters{
		lists:         counter("relist_lists_total", "Lists that have ended, by result: success (the whole list has come) or error.", "result"),
		listed:        counter("relist_listed_objects_total", "Objects in the lists that have come whole."),
		listDurations: histogram("relist_list_duration_seconds", "How long whole lists took, from the first request to the end of the last answer."),
		relists:       counter("relist_relists_total", "How often the resume version was given up, so that a list follows, by reason.", "reason"),
		opened:        counter("relist_watches_opened_total", "Watches that the server has answered."),
		ended:         counter("relist_watches_ended_total", "Watches that were refused, have ended or were hung up, by reason.", "reason"),
		events:        counter("relist_events_total", "Events that have come, by type: ADDED, MODIFIED, DELETED or BOOKMARK.", "type"),
		backoffs:      counter("relist_backoffs_total", "Delays before a request, by the reason for the delay.", "reason"),
		problems:      counter("relist_problems_total", "Problems, by class: list, watch, server (a watch got no connection, or 429, 502, 503 or 504), object, version, sink or drift.", "class"),
		verifications: counter("relist_verifications_total", "Comparisons of the copy with the server that have come to an end."),
		differences:   counter("relist_verified_differences_total", "Objects that such a comparison has found to differ."),
	}
}

func (c *counters) all() []vector {
	return []vector{
		c.lists, c.listed, c.listDurations, c.relists, c.opened, c.ended, c.events, c.backoffs, c.problems, c.verifications, c.differences,
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"name"}, labels...))
}

func histogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"name"})
}

// Trace returns a Trace that counts what a reflector does. It is for Trace of the reflector's
// options. A program that has a Trace of its own sets both with [reflector.JoinTraces]. The
// counters start at 0 when Trace is called, except those with a reason, which appear when the
// reason does.
func (m *Metrics) Trace(name string) *reflector.Trace {
	c := &m.counters
	name = valid(name)
	success, failed := c.lists.WithLabelValues(name, "success"), c.lists.WithLabelValues(name, "error")
	listed, durations := c.listed.WithLabelValues(name), c.listDurations.WithLabelValues(name)
	opened := c.opened.WithLabelValues(name)
	verifications, differences := c.verifications.WithLabelValues(name), c.differences.WithLabelValues(name)
	for typ := object.Added; typ <= object.Bookmark; typ++ {
		c.events.WithLabelValues(name, typ.String())
	}
	away := c.problems.WithLabelValues(name, serverClass)
	for _, class := range classes {
		c.problems.WithLabelValues(name, class.String())
	}
	return &reflector.Trace{
		ListDone: func(e reflector.ListDone) {
			if e.Err != nil {
				failed.Inc()
				return
			}
			success.Inc()
			listed.Add(float64(e.Items))
			durations.Observe(e.Duration.Seconds())
		},
		WatchOpen: opened.Inc,
		Event:     func(e reflector.Event) { c.events.WithLabelValues(name, e.Type.String()).Inc() },
		Bookmark:  func(string) { c.events.WithLabelValues(name, object.Bookmark.String()).Inc() },
		WatchEnd: func(e reflector.WatchEnd) {
			c.ended.WithLabelValues(name, e.Reason.String()).Inc()
			switch e.Reason {
			case protocol.Unreachable, protocol.Unavailable, protocol.Throttled:
				away.Inc()
			default: // a watch that has ended is no problem, or the reflector tells of one
			}
		},
		Relist:  func(e reflector.Relist) { c.relists.WithLabelValues(name, e.Reason.String()).Inc() },
		Backoff: func(e reflector.Backoff) { c.backoffs.WithLabelValues(name, e.Reason.String()).Inc() },
		Problem: func(p reflector.Problem) { c.problems.WithLabelValues(name, p.Class.String()).Inc() },
		Verified: func(v reflector.Verified) {
			verifications.Inc()
			differences.Add(float64(v.Differences))
		},
	}
}

// serverClass is no class of the reflector, because it tries again, and that helps when the server
// is back. A list that fails for this reason is a problem of the class list.
const serverClass = "server"

var classes = []reflector.ProblemClass{
	protocol.ListProblem, protocol.WatchProblem, protocol.ObjectProblem, protocol.VersionProblem, protocol.SinkProblem,
	protocol.DriftProblem,
}
