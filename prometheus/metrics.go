package relistprom

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/transport/discovery"
)

// Metrics collects the metrics of any number of informers, reflectors, relays and controllers. It
// is a [prometheus.Collector]. All methods may be called from any goroutine.
type Metrics struct {
	counters  counters
	reconcile reconcile

	mu         sync.Mutex
	reflectors map[string]observed
	queues     map[string]queue
}

// buckets are the upper bounds of the histograms, in seconds: of lists, of the work on a key, and
// of the time that a key waits. Each is about three times the one before.
var buckets = []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300}

// New returns a Metrics that is registered. If the registerer has metrics of these names already,
// New panics, as MustRegister does. If registerer is nil, the caller registers it.
func New(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		counters:   newCounters(),
		reconcile:  newReconcile(),
		reflectors: map[string]observed{},
		queues:     map[string]queue{},
	}
	if registerer != nil {
		registerer.MustRegister(m)
	}
	return m
}

// Reporter is what [Metrics.Reflector] asks: a [reflector.Reflector] of any type.
type Reporter interface {
	Status() reflector.Status
}

// Cache is what [Metrics.Informer] asks: an [informer.Informer] of any type.
type Cache interface {
	Reporter
	Stats() informer.Stats
}

// WorkQueue is what [Metrics.Queue] asks: a [controller.Queue] of any type.
type WorkQueue interface {
	Stats() controller.Stats
}

// observed is an informer, or a reflector without one.
type observed struct {
	status func() reflector.Status
	stats  func() informer.Stats       // nil without an informer
	relay  func() relay.ResourceStatus // nil if it is not one of a relay
}

// Informer adds the gauges of an informer. Its counters come from [Metrics.Trace] with the same
// name. If an informer was added with this name before, the new one takes its place.
func (m *Metrics) Informer(name string, in Cache) {
	m.add(name, observed{status: in.Status, stats: in.Stats})
}

// NewInformer is [informer.New] for an informer that has all metrics: it sets [Metrics.Trace],
// besides the Trace that opts have, and calls [Metrics.Informer].
func NewInformer[T object.Object](m *Metrics, name string, lw source.ListWatcher[T], opts informer.Options[T]) *informer.Informer[T] {
	opts.Reflector.Trace = reflector.JoinTraces(opts.Reflector.Trace, m.Trace(name))
	in := informer.New(lw, opts)
	m.Informer(name, in)
	return in
}

// Reflector is [Metrics.Informer] for a reflector without an informer.
func (m *Metrics) Reflector(name string, r Reporter) { m.add(name, observed{status: r.Status}) }

// Relay adds the gauges of each resource of a relay. Its name is that of the resource: pods, or
// deployments.apps. The counters come from [Metrics.RelayTrace].
func (m *Metrics) Relay(r *relay.Relay) {
	for i, one := range r.Status().Resources {
		of := func() relay.ResourceStatus { return r.Status().Resources[i] }
		m.add(one.Resource.GroupResource().String(), observed{
			status: func() reflector.Status { return of().Upstream },
			relay:  of,
		})
	}
}

// RelayTrace is for [relay.Options]: what the relay's reflector of a resource does.
func (m *Metrics) RelayTrace(resource discovery.Resource) *reflector.Trace {
	return m.Trace(resource.GroupResource().String())
}

func (m *Metrics) add(name string, s observed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reflectors[valid(name)] = s
}

// Remove removes all metrics with a name. It is for informers and controllers that come and go:
// call it when they have ended.
func (m *Metrics) Remove(name string) {
	name = valid(name)
	m.mu.Lock()
	delete(m.reflectors, name)
	delete(m.queues, name)
	m.mu.Unlock()
	for _, v := range m.vectors() {
		v.DeletePartialMatch(prometheus.Labels{"name": name})
	}
}

// vector is a metric that has labels and keeps its values itself.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

func (m *Metrics) vectors() []vector { return append(m.counters.all(), m.reconcile.all()...) }

// Describe sends the description of every metric, as [prometheus.Collector] wants it.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range m.vectors() {
		v.Describe(ch)
	}
	for _, g := range statusGauges {
		ch <- g.desc
	}
	for _, g := range cacheGauges {
		ch <- g.desc
	}
	for _, g := range queueGauges {
		ch <- g.desc
	}
	for _, g := range relayGauges {
		ch <- g.desc
	}
	ch <- stateDesc
	ch <- handlerDesc
	ch <- depthDesc
}

// Collect sends the metrics as they are now, as [prometheus.Collector] wants it.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, v := range m.vectors() {
		v.Collect(ch)
	}
	m.mu.Lock()
	reflectors, queues := maps.Clone(m.reflectors), maps.Clone(m.queues)
	m.mu.Unlock()
	now := time.Now()
	for name, s := range reflectors {
		s.collect(ch, name, now)
	}
	for name, q := range queues {
		q.collect(ch, name)
	}
}

// gauge is a number that is read from something that has a name.
type gauge[S any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(S) float64
}

func asked[S any](kind prometheus.ValueType, name, help string, value func(S) float64) gauge[S] {
	return gauge[S]{describe(name, help), kind, value}
}

func (g gauge[S]) collect(ch chan<- prometheus.Metric, from S, name string) {
	send(ch, g.desc, g.kind, g.value(from), name)
}

func send(ch chan<- prometheus.Metric, desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
}

// valid makes a label of a name, because Prometheus accepts only UTF-8.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"name"}, labels...), nil)
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
