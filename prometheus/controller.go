package relistprom

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relist-go/relist/controller"
)

// reconcile has the metrics of the calls of a Reconcile function.
type reconcile struct {
	results *prometheus.CounterVec
	workers *prometheus.GaugeVec
	waited  *prometheus.HistogramVec
	worked  *prometheus.HistogramVec
}

func newReconcile() reconcile {
	return reconcile{
		results: counter("relist_controller_reconciles_total", "Calls of Reconcile, by result: success, requeue_after (success, and it asked to be called again), error or panic.", "result"),
		workers: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "relist_controller_max_workers", Help: "How many keys can be worked on at once."}, []string{"name"}),
		waited:  histogram("relist_workqueue_queue_duration_seconds", "How long keys were ready before a worker took them."),
		worked:  histogram("relist_workqueue_work_duration_seconds", "How long the calls of Reconcile took."),
	}
}

func (r *reconcile) all() []vector { return []vector{r.results, r.workers, r.waited, r.worked} }

// Controller returns opts with the fields that metrics need, for [controller.Run]: a Queue if opts
// has none, and an OnReconciled that also calls that of opts.
func (m *Metrics) Controller(name string, opts controller.Options) controller.Options {
	name = valid(name)
	if opts.Queue == nil {
		opts.Queue = controller.NewQueue[string](controller.QueueOptions{})
	}
	m.Queue(name, opts.Queue)
	r := &m.reconcile
	r.workers.WithLabelValues(name).Set(float64(max(opts.Workers, 1)))
	for _, result := range results {
		r.results.WithLabelValues(name, result)
	}
	waited, worked, next := r.waited.WithLabelValues(name), r.worked.WithLabelValues(name), opts.OnReconciled
	opts.OnReconciled = func(done controller.Reconciled) {
		r.results.WithLabelValues(name, resultOf(done)).Inc()
		waited.Observe(done.Waited.Seconds())
		worked.Observe(done.Took.Seconds())
		if next != nil {
			next(done)
		}
	}
	return opts
}

var results = []string{"success", "requeue_after", "error", "panic"}

func resultOf(done controller.Reconciled) string {
	var panicked *controller.PanicError
	switch {
	case errors.As(done.Err, &panicked):
		return "panic"
	case done.Err != nil:
		return "error"
	case done.Next > 0:
		return "requeue_after"
	}
	return "success"
}

type queue struct {
	stats func() controller.Stats
}

// Queue adds a work queue that no [controller.Run] works on. If one was added with this name
// before, the new one takes its place.
func (m *Metrics) Queue(name string, q WorkQueue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues[valid(name)] = queue{q.Stats}
}

var depthDesc = describe("relist_workqueue_depth", "Keys that wait for a worker, by priority: live (something has changed) or initial (only the first list has asked for them).", "priority")

// The names are those of Kubernetes and controller-runtime, where they have one:
// https://kubernetes.io/docs/reference/instrumentation/metrics/
var queueGauges = []gauge[controller.Stats]{
	asked(prometheus.CounterValue, "relist_workqueue_adds_total", "How often a key became ready, and was not ready already.",
		func(s controller.Stats) float64 { return float64(s.Added) }),
	asked(prometheus.CounterValue, "relist_workqueue_retries_total", "How often the work on a key has failed.",
		func(s controller.Stats) float64 { return float64(s.Retries) }),
	asked(prometheus.GaugeValue, "relist_workqueue_delayed_keys", "Keys that wait for a time, such as the end of a delay after a failure.",
		func(s controller.Stats) float64 { return float64(s.Delayed) }),
	asked(prometheus.GaugeValue, "relist_workqueue_failing_keys", "Keys whose last work failed.",
		func(s controller.Stats) float64 { return float64(s.Failing) }),
	asked(prometheus.GaugeValue, "relist_workqueue_oldest_key_seconds", "How long the oldest of the ready keys has been ready.",
		func(s controller.Stats) float64 { return s.Oldest.Seconds() }),
	asked(prometheus.GaugeValue, "relist_workqueue_unfinished_work_seconds", "How long all workers have had the keys that they work on, in total.",
		func(s controller.Stats) float64 { return s.Unfinished.Seconds() }),
	asked(prometheus.GaugeValue, "relist_workqueue_longest_running_processor_seconds", "How long the slowest of the workers has had its key.",
		func(s controller.Stats) float64 { return s.Longest.Seconds() }),
	asked(prometheus.GaugeValue, "relist_controller_active_workers", "Keys that are worked on.",
		func(s controller.Stats) float64 { return float64(s.Working) }),
	asked(prometheus.GaugeValue, "relist_controller_held_keys", "Keys that wait until the caches have what Reconcile has written.",
		func(s controller.Stats) float64 { return float64(s.Held) }),
}

func (q queue) collect(ch chan<- prometheus.Metric, name string) {
	stats := q.stats()
	for _, g := range queueGauges {
		g.collect(ch, stats, name)
	}
	send(ch, depthDesc, prometheus.GaugeValue, float64(stats.Ready-stats.Initial), name, "live")
	send(ch, depthDesc, prometheus.GaugeValue, float64(stats.Initial), name, "initial")
}
