package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/relist-go/relist/test/bench/measure"
)

// table shows the medians of the programs and their ratios. There is a ratio for each pair of runs
// of a round; the table has the median, the least and the greatest of these.
func table(all results) string {
	if len(all[0]) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("| | relist | client-go | ratio | client-go 0.38 | ratio |\n| --- | ---: | ---: | --- | ---: | --- |\n")
	for _, m := range all[0][0].Metrics {
		a, b, next := values(all[0], m.Name), values(all[1], m.Name), values(all[2], m.Name)
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s |\n", m.Name, number(median(a)), number(median(b)), ratio(a, b), number(median(next)), ratio(a, next))
	}
	fmt.Fprintf(&text, "\nMedian of %d.\n", len(all[0]))
	return text.String()
}

func values(runs []measure.Result, metric string) []float64 {
	var all []float64
	for _, r := range runs {
		if v, ok := r.Get(metric); ok {
			all = append(all, v)
		}
	}
	return all
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Clone(v)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// comparison returns a text such as "1.20 / 2.90: **0.41** (0.38–0.45)", and "1.20" if only the
// first program has the figure.
func comparison(a, b []float64) string {
	switch {
	case len(a) == 0:
		return ""
	case len(b) == 0:
		return number(median(a))
	}
	return number(median(a)) + " / " + number(median(b)) + ": " + ratio(a, b)
}

// ratio returns a text such as "**0.41** (0.38–0.45)".
func ratio(a, b []float64) string {
	var all []float64
	for i := range min(len(a), len(b)) {
		if b[i] > 0 && a[i] >= 0 {
			all = append(all, a[i]/b[i])
		}
	}
	if len(all) == 0 {
		return ""
	}
	if len(all) == 1 {
		return "**" + number(all[0]) + "**"
	}
	return fmt.Sprintf("**%s** (%s–%s)", number(median(all)), number(slices.Min(all)), number(slices.Max(all)))
}

// number returns v with three digits, or with all digits before the point if these are more.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return ""
	case size >= 1000:
		return thousands(int64(math.Round(v)))
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 0.1, size == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
}

func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
