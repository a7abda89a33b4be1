package relistprom_test

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	relistprom "github.com/relist-go/relist/prometheus"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

var described = regexp.MustCompile(`fqName: "(\w+)", help: "([^"]+)".*variableLabels: \{([\w,]+)\}`)

// row is a metric in the README's table.
var row = regexp.MustCompile("(?m)^\\| `(relist_\\w+)` \\| ([^|]*) \\| ([^|]*) \\|$")

// The README has every metric, with its labels and its help.
func TestReadmeNamesEveryMetric(t *testing.T) {
	want := map[string]string{}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		relistprom.New(nil).Describe(descs)
	}()
	for d := range descs {
		match := described.FindStringSubmatch(d.String())
		if match == nil {
			t.Fatalf("%s", d)
		}
		labels := strings.Split(match[3], ",")
		if labels[0] != "name" {
			t.Errorf("the first label of %s is %s", match[1], labels[0])
		}
		want[match[1]] = strings.Join(labels[1:], ", ") + ": " + match[2]
	}
	text, err := os.ReadFile("README.md")
	must.OK(t, err)
	have := map[string]string{}
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		have[match[1]] = strings.Trim(match[2], "`") + ": " + match[3]
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if label, help, _ := strings.Cut(want[name], ": "); have[name] != want[name] {
			if label != "" {
				label = "`" + label + "`"
			}
			t.Errorf("README.md lacks: | `%s` | %s | %s |", name, label, help)
		}
	}
	if len(have) != len(want) {
		t.Errorf("README.md has %d metrics, and there are %d", len(have), len(want))
	}
}

// fixed is an informer, a reflector and a queue that return what a test has put in.
type fixed struct {
	status reflector.Status
	stats  informer.Stats
}

func (f fixed) Status() reflector.Status { return f.status }
func (f fixed) Stats() informer.Stats    { return f.stats }

// Names that Prometheus would refuse, and handlers that share one, do not spoil a scrape.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.metrics.Trace("a\xff\"\n").Problem(reflector.Problem{})
		r.metrics.Informer("a\xff\"\n", fixed{stats: informer.Stats{Handlers: []informer.HandlerStats{
			{Name: "h\xff", Pending: 1}, {Name: "h\xfe", Pending: 2}, {Pending: 3}, {Pending: 4},
		}}})
		r.reads(series{
			`relist_handler_pending_objects{handler="h�", name="a�\"\n"}`: 3,
			`relist_handler_pending_objects{handler="", name="a�\"\n"}`:   7,
			`relist_staleness_seconds{name="a�\"\n"}`:                     0,
			`relist_last_event_age_seconds{name="a�\"\n"}`:                0,
			`relist_state{name="a�\"\n", state="stopped"}`:                1,
			`relist_problems_total{class="unknown", name="a�\"\n"}`:       1,
		})
		r.metrics.Remove("a\xff\"\n")
		if left := r.scrape(); len(left) > 0 {
			t.Errorf("after Remove there is %v", left)
		}
	})
}

// A second informer with a name takes the place of the first. A reflector alone has no store.
func TestReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.metrics.Informer("a", fixed{stats: informer.Stats{Objects: 1}})
		r.metrics.Informer("a", fixed{stats: informer.Stats{Objects: 2}})
		r.metrics.Reflector("b", fixed{status: reflector.Status{Quarantined: make([]reflector.Quarantined, 3), MoreQuarantined: 4}})
		r.reads(series{`relist_objects{name="a"}`: 2, `relist_quarantined_objects{name="b"}`: 7})
		if _, is := r.scrape()[`relist_objects{name="b"}`]; is {
			t.Error("a reflector has objects")
		}
	})
}

// A registry that has the metrics already says so at once.
func TestRegisteredTwice(t *testing.T) {
	registry := prometheus.NewRegistry()
	relistprom.New(registry)
	defer func() {
		if recover() == nil {
			t.Error("the second New does not panic")
		}
	}()
	relistprom.New(registry)
}

// Everything may be called while Prometheus scrapes.
func TestConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		var all sync.WaitGroup
		for _, name := range []string{"a", "b", "a"} {
			all.Go(func() {
				for ctx.Err() == nil {
					trace := r.metrics.Trace(name)
					trace.Relist(reflector.Relist{Reason: protocol.Expired})
					r.metrics.Informer(name, fixed{})
					r.metrics.Controller(name, controller.Options{}).OnReconciled(controller.Reconciled{})
					<-time.After(time.Millisecond)
					r.metrics.Remove(name)
				}
			})
		}
		for ctx.Err() == nil {
			r.scrape()
			<-time.After(time.Millisecond)
		}
		all.Wait()
	})
}
