// Package check tests the metrics with Prometheus itself: that its parsers read what is scraped,
// and that the queries of the dashboard and of the alerts ask for metrics that there are.
package check
