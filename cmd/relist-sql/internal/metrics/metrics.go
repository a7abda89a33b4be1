// Package metrics counts what reflectors do, and writes metrics as Prometheus reads them. The
// names, the labels and the help are those of the module prometheus/, which relist-sql does not
// require: test/prometheus compares them.
package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// family is a metric.
type family struct {
	name, kind, label, help string
	known                   []string // values of the label that are there from the start
}

// counted are the metrics that a trace counts.
var counted = []family{
	{"relist_lists_total", "counter", "result", "Lists that have ended, by result: success (the whole list has come) or error.", []string{"success", "error"}},
	{"relist_listed_objects_total", "counter", "", "Objects in the lists that have come whole.", []string{""}},
	{"relist_relists_total", "counter", "reason", "How often the resume version was given up, so that a list follows, by reason.", nil},
	{"relist_watches_opened_total", "counter", "", "Watches that the server has answered.", []string{""}},
	{"relist_watches_ended_total", "counter", "reason", "Watches that were refused, have ended or were hung up, by reason.", nil},
	{"relist_events_total", "counter", "type", "Events that have come, by type: ADDED, MODIFIED, DELETED or BOOKMARK.", []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}},
	{"relist_backoffs_total", "counter", "reason", "Delays before a request, by the reason for the delay.", nil},
	{"relist_problems_total", "counter", "class", "Problems, by class: list, watch, server (a watch got no connection, or 429, 502, 503 or 504), object, version, sink or drift.", []string{"list", "watch", serverClass, "object", "version", "sink", "drift"}},
	{"relist_verifications_total", "counter", "", "Comparisons of the copy with the server that have come to an end.", []string{""}},
	{"relist_verified_differences_total", "counter", "", "Objects that such a comparison has found to differ.", []string{""}},
}

// serverClass is no class of the reflector, because it tries again, and that helps when the server
// is back. The module prometheus/ has it, too.
const serverClass = "server"

// Counts counts what a reflector does, for /metrics.
type Counts struct {
	mu     sync.Mutex
	values map[string]map[string]uint64 // by metric, and by the value of its label
	lists  histogram
}

// Trace returns a trace that counts.
func (c *Counts) Trace() *reflector.Trace {
	return &reflector.Trace{
		ListDone: func(e reflector.ListDone) {
			if e.Err != nil {
				c.add("relist_lists_total", "error", 1)
				return
			}
			c.add("relist_lists_total", "success", 1)
			c.add("relist_listed_objects_total", "", e.Items)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lists.observe(e.Duration)
		},
		WatchOpen: func() { c.add("relist_watches_opened_total", "", 1) },
		Event:     func(e reflector.Event) { c.add("relist_events_total", e.Type.String(), 1) },
		Bookmark:  func(string) { c.add("relist_events_total", object.Bookmark.String(), 1) },
		WatchEnd: func(e reflector.WatchEnd) {
			c.add("relist_watches_ended_total", e.Reason.String(), 1)
			switch e.Reason {
			case protocol.Unreachable, protocol.Unavailable, protocol.Throttled:
				c.add("relist_problems_total", serverClass, 1)
			default: // a watch that has ended is no problem, or the reflector tells of one
			}
		},
		Relist:  func(e reflector.Relist) { c.add("relist_relists_total", e.Reason.String(), 1) },
		Backoff: func(e reflector.Backoff) { c.add("relist_backoffs_total", e.Reason.String(), 1) },
		Problem: func(p reflector.Problem) { c.add("relist_problems_total", p.Class.String(), 1) },
		Verified: func(v reflector.Verified) {
			c.add("relist_verifications_total", "", 1)
			c.add("relist_verified_differences_total", "", v.Differences)
		},
	}
}

func (c *Counts) add(metric, label string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]map[string]uint64{}
	}
	if c.values[metric] == nil {
		c.values[metric] = map[string]uint64{}
	}
	c.values[metric][label] += uint64(n)
}

// histogram counts durations, by the bounds of the module prometheus/.
type histogram struct {
	counts [len(bounds) + 1]uint64 // the last is of those above all bounds
	sum    time.Duration
}

var bounds = [...]time.Duration{
	time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second, 100 * time.Second, 300 * time.Second,
}

func (h *histogram) observe(d time.Duration) {
	i, _ := slices.BinarySearch(bounds[:], d)
	h.counts[i]++
	h.sum += d
}

// Text is metrics in the text format of Prometheus, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/
//
// The values of a metric stand together, as the format wants it, whoever's they are.
type Text struct {
	families []*lines
	byName   map[string]*lines
}

// lines are those of a metric.
type lines struct {
	head string
	body bytes.Buffer
}

// Bytes returns the text.
func (x *Text) Bytes() []byte {
	var out bytes.Buffer
	for _, f := range x.families {
		out.WriteString(f.head)
		out.Write(f.body.Bytes())
	}
	return out.Bytes()
}

// Of returns what writes the metrics of one mirror. name is the label "name" of all of them.
func (x *Text) Of(name string) Mirror { return Mirror{x, name} }

// Mirror writes the metrics of one mirror to a [Text].
type Mirror struct {
	text *Text
	name string
}

// escaped is a value of a label.
func escaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "\uFFFD"))
}

// head writes what stands above the values of a metric, once.
func (m Mirror) head(name, kind, help string) *lines {
	x := m.text
	f, ok := x.byName[name]
	if !ok {
		if x.byName == nil {
			x.byName = map[string]*lines{}
		}
		f = &lines{head: fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)}
		x.byName[name], x.families = f, append(x.families, f)
	}
	return f
}

// value writes a value. Without a label, it has only the label "name".
func (m Mirror) value(f *lines, metric, label, of string, value float64) {
	fmt.Fprintf(&f.body, `%s{name="%s"`, metric, escaped(m.name))
	if label != "" {
		fmt.Fprintf(&f.body, `,%s="%s"`, label, escaped(of))
	}
	fmt.Fprintf(&f.body, "} %s\n", strconv.FormatFloat(value, 'g', -1, 64))
}

// Gauge writes a gauge.
func (m Mirror) Gauge(name, help string, value float64) {
	m.value(m.head(name, "gauge", help), name, "", "", value)
}

// Counter writes a counter.
func (m Mirror) Counter(name, help string, value float64) {
	m.value(m.head(name, "counter", help), name, "", "", value)
}

// Counts writes what was counted.
func (m Mirror) Counts(c *Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range counted {
		values := map[string]uint64{}
		for _, label := range f.known {
			values[label] = 0
		}
		maps.Copy(values, c.values[f.name])
		if len(values) == 0 {
			continue
		}
		family := m.head(f.name, f.kind, f.help)
		for _, label := range slices.Sorted(maps.Keys(values)) {
			m.value(family, f.name, f.label, label, float64(values[label]))
		}
	}
	const lists = "relist_list_duration_seconds"
	family := m.head(lists, "histogram", "How long whole lists took, from the first request to the end of the last answer.")
	var below uint64
	for i, bound := range bounds {
		below += c.lists.counts[i]
		m.value(family, lists+"_bucket", "le", strconv.FormatFloat(bound.Seconds(), 'g', -1, 64), float64(below))
	}
	below += c.lists.counts[len(bounds)]
	m.value(family, lists+"_bucket", "le", "+Inf", float64(below))
	m.value(family, lists+"_sum", "", "", c.lists.sum.Seconds())
	m.value(family, lists+"_count", "", "", float64(below))
}

// Status writes what the reflector says at a moment.
func (m Mirror) Status(s reflector.Status, now time.Time) {
	m.Gauge("relist_synced", "1 if the whole state has come once, and 0 before.", Truth(s.Synced))
	m.Gauge("relist_staleness_seconds", "How long ago the copy was last known to be up to date.", s.Staleness(now).Seconds())
	m.Gauge("relist_failing_seconds", "For how long requests have failed, and no watch has been open; 0 if that is not so.", Since(s.FailingSince, now))
	m.Gauge("relist_last_event_age_seconds", "How long ago the last event or bookmark came; since the start, if none has come.",
		Since(slices.MaxFunc([]time.Time{s.LastEvent, s.LastBookmark, s.Started}, time.Time.Compare), now))
	m.Gauge("relist_quarantined_objects", "Objects whose latest version the copy may lack.", float64(len(s.Quarantined)+s.MoreQuarantined))
	const state = "relist_state"
	family := m.head(state, "gauge", "1 for the state that the reflector is in, and 0 for the others: stopped, listing, opening, watching or waiting.")
	for each := reflector.Stopped; each <= reflector.Waiting; each++ {
		m.value(family, state, "state", each.String(), Truth(each == s.State))
	}
}

// Truth is 1 or 0.
func Truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Since returns the seconds since a time, and 0 if that time is zero.
func Since(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return now.Sub(at).Seconds()
}
