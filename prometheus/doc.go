// Package relistprom makes Prometheus metrics of informers, reflectors, relays and controllers.
// It is for programs that serve metrics by client_golang. The library does not need it: with
// another metrics library, read Status and Stats, or set a [reflector.Trace].
//
//	metrics := relistprom.New(prometheus.DefaultRegisterer)
//	pods := relistprom.NewInformer(metrics, "pods", list, informer.Options[*Pod]{})
//
// Counters and histograms come from a [reflector.Trace]. Gauges are read when Prometheus scrapes:
// from the Status and the Stats of an informer, from the Stats of a work queue, and from the Status
// of a relay. README.md has all metrics, a dashboard and rules for alerts.
//
// Each metric has the label "name", which the program chooses, and no label has the name of an
// object or the text of an error. So a program has a fixed number of time series for each name.
// Names must differ: if two informers have one name, the later one replaces the earlier one, and
// their counters add up.
//
// Begin with [New].
package relistprom
