package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relist-go/relist/durable"
)

// copies collects the metrics of the copies of a run. Their reflectors have those of the module
// prometheus.
type copies struct{ *mirrorRun }

// copyMetric is a number of each copy.
type copyMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(t *target, s durable.Status, now time.Time) float64
}

func newCopyMetric(kind prometheus.ValueType, name, help string, value func(*target, durable.Status, time.Time) float64) copyMetric {
	return copyMetric{prometheus.NewDesc(name, help, []string{"name"}, nil), kind, value}
}

var copyMetrics = []copyMetric{
	newCopyMetric(prometheus.CounterValue, "relist_sink_commits_total", "Transactions that were committed.",
		func(t *target, _ durable.Status, _ time.Time) float64 { return float64(t.commits.Load()) }),
	newCopyMetric(prometheus.CounterValue, "relist_sink_changes_total", "Changes of rows that were committed.",
		func(_ *target, s durable.Status, _ time.Time) float64 { return float64(s.Changes) }),
	newCopyMetric(prometheus.CounterValue, "relist_sink_failures_total", "Calls of the database that have failed, so that the copy was opened again.",
		func(t *target, _ durable.Status, _ time.Time) float64 { return float64(t.commitFailures.Load()) }),
	newCopyMetric(prometheus.GaugeValue, "relist_sink_failing_seconds", "For how long nothing could be committed; 0 if that is not so.",
		func(_ *target, s durable.Status, now time.Time) float64 {
			if s.FailingSince.IsZero() {
				return 0
			}
			return now.Sub(s.FailingSince).Seconds()
		}),
	newCopyMetric(prometheus.GaugeValue, "relist_sink_lag_seconds", "For how long the oldest change has been waiting for its commit.",
		func(_ *target, s durable.Status, now time.Time) float64 { return s.Lag(now).Seconds() }),
	newCopyMetric(prometheus.GaugeValue, "relist_sink_pending_changes", "Changes that wait for their commit.",
		func(_ *target, s durable.Status, _ time.Time) float64 { return float64(s.Pending) }),
	newCopyMetric(prometheus.GaugeValue, "relist_sink_unsure_keys", "Keys whose rows may not be what the server has.",
		func(_ *target, s durable.Status, _ time.Time) float64 { return float64(unsure(s.Committed.Point)) }),
	newCopyMetric(prometheus.GaugeValue, "relist_sink_synced", "1 if the rows have a version, and 0 while a first copy is written.",
		func(_ *target, s durable.Status, _ time.Time) float64 {
			if s.Committed.Point.Version == "" {
				return 0
			}
			return 1
		}),
}

// Describe implements [prometheus.Collector].
func (copies) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range copyMetrics {
		ch <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c copies) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	for _, t := range c.targets {
		s := t.mirror.Status()
		for _, m := range copyMetrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(t, s, now), t.label)
		}
	}
}
