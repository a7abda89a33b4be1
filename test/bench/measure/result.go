package measure

import (
	"encoding/json"
	"io"
	"slices"
)

// The names of the metrics that more than one case has.
const (
	CPU        = "CPU, s"
	Wall       = "wall, s"
	PeakRSS    = "peak RSS, MB"
	LiveHeap   = "live heap, MB"
	Allocs     = "allocations, 1,000"
	AllocBytes = "allocated, MB"
	Rate       = "events/s"
	Received   = "received, MB"
	EventCPU   = "CPU per event, µs"
)

// A Result is what one run of one program used. It travels as one line of JSON.
type Result struct {
	Program string
	Case    string
	Metrics []Metric
}

// A Metric is one number; its name has the unit.
type Metric struct {
	Name  string
	Value float64
}

// Set adds a metric, or changes it.
func (r *Result) Set(name string, value float64) {
	if i := slices.IndexFunc(r.Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		r.Metrics[i].Value = value
		return
	}
	r.Metrics = append(r.Metrics, Metric{name, value})
}

// Get returns a metric; false if the case does not have it.
func (r *Result) Get(name string) (float64, bool) {
	for _, m := range r.Metrics {
		if m.Name == name {
			return m.Value, true
		}
	}
	return 0, false
}

// Write writes the line.
func (r *Result) Write(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
