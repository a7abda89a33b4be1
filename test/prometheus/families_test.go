package check

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	relistprom "github.com/relist-go/relist/prometheus"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// quiet is an informer with a handler, of which nothing else is known.
type quiet struct{}

func (quiet) Status() reflector.Status { return reflector.Status{} }

func (quiet) Stats() informer.Stats {
	return informer.Stats{Handlers: []informer.HandlerStats{{Name: "handler"}}}
}

// registry has every metric, with every label.
func registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	metrics := relistprom.New(r)
	happen(metrics.Trace("configmaps"))
	metrics.Informer("configmaps", quiet{})
	metrics.Controller("configmaps", controller.Options{}).OnReconciled(controller.Reconciled{})
	return r
}

// happen tells of what makes the series that are not there from the start.
func happen(trace *reflector.Trace) {
	trace.Relist(reflector.Relist{Reason: protocol.Expired})
	trace.WatchEnd(reflector.WatchEnd{Reason: protocol.Closed})
	trace.Backoff(reflector.Backoff{Reason: protocol.ConnectionLost})
	trace.ListDone(reflector.ListDone{})
}

// family is a metric: what it is, its help, and the labels of its series.
type family struct {
	kind   dto.MetricType
	help   string
	labels map[string]map[string]bool // the values of each
}

// familiesOf returns the metrics by name.
func familiesOf(t *testing.T, gatherer prometheus.Gatherer) map[string]family {
	t.Helper()
	gathered, err := gatherer.Gather()
	must.OK(t, err)
	all := map[string]family{}
	for _, g := range gathered {
		f := family{g.GetType(), g.GetHelp(), map[string]map[string]bool{}}
		for _, m := range g.GetMetric() {
			for _, pair := range m.GetLabel() {
				if f.labels[pair.GetName()] == nil {
					f.labels[pair.GetName()] = map[string]bool{}
				}
				f.labels[pair.GetName()][pair.GetValue()] = true
			}
		}
		all[g.GetName()] = f
	}
	return all
}

// seriesOf returns the metric that a series of Prometheus belongs to: a histogram has three.
func seriesOf(all map[string]family, series string) (name string, f family, ok bool) {
	if f, ok = all[series]; ok {
		return series, f, f.kind != dto.MetricType_HISTOGRAM
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, is := strings.CutSuffix(series, suffix); is {
			f, ok = all[name]
			return name, f, ok && f.kind == dto.MetricType_HISTOGRAM
		}
	}
	return series, family{}, false
}
