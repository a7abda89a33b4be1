package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/test/bench/measure"
)

func result(cpu float64, more ...measure.Metric) measure.Result {
	return measure.Result{Metrics: append([]measure.Metric{{Name: measure.CPU, Value: cpu}}, more...)}
}

func TestTable(t *testing.T) {
	all := results{
		{result(1, measure.Metric{Name: "own", Value: 7}), result(2), result(6)},
		{result(4), result(4), result(4)},
		{result(8), result(8), result(8)},
	}
	const want = `| | relist | client-go | ratio | client-go 0.38 | ratio |
| --- | ---: | ---: | --- | ---: | --- |
| CPU, s | 2.00 | 4.00 | **0.50** (0.25–1.50) | 8.00 | **0.25** (0.12–0.75) |
| own | 7.00 |  |  |  |  |

Median of 3.
`
	if diff := cmp.Diff(want, table(all)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := table(results{}); got != "" {
		t.Errorf("a table of nothing: %q", got)
	}
}

func TestComparison(t *testing.T) {
	if got, want := comparison([]float64{1, 2, 6}, []float64{4, 4, 4}), "2.00 / 4.00: **0.50** (0.25–1.50)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := comparison([]float64{1, 2, 6}, nil); got != "2.00" {
		t.Errorf("a figure of one program is %q", got)
	}
}

// Ratios are of the runs that followed each other, not of the medians.
func TestRatio(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		want string
	}{
		{[]float64{1}, []float64{4}, "**0.25**"},
		{[]float64{1, 8}, []float64{4, 4}, "**1.12** (0.25–2.00)"},
		{[]float64{1, 8}, []float64{4}, "**0.25**"},
		{[]float64{1, 8}, []float64{0, 4}, "**2.00**"},
		{[]float64{-1}, []float64{4}, ""},
		{nil, nil, ""},
	} {
		if got := ratio(tt.a, tt.b); got != tt.want {
			t.Errorf("ratio(%v, %v) = %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.00", 0.0123: "0.012", 0.25: "0.25", 9.876: "9.88", 12.34: "12.3", 123.4: "123", 1234.4: "1,234",
		-1234567: "-1,234,567", 999_999.6: "1,000,000", -0.5: "-0.50",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
	if got := number(math.NaN()); got != "" {
		t.Errorf("no number is %q", got)
	}
}
