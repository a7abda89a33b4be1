package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/measure"
)

// A way is a combination of transport, encoding and options by which relist gets the Pods.
type way struct {
	title      string
	name       string // of the case
	http2      bool
	gzip       bool
	shareParts bool
}

// transports shows what each way to the same Pods takes.
func transports(ctx context.Context, r *runner) (report, error) {
	return r.alone(ctx, []way{
		{title: "list, JSON, HTTP/1.1", name: "list-json"},
		{title: "list, JSON, HTTP/2 and TLS", name: "list-json", http2: true},
		{title: "list, JSON, gzip, HTTP/1.1", name: "list-json", gzip: true},
		{title: "list, protobuf, HTTP/1.1", name: "list-protobuf"},
		{title: "list, protobuf, gzip, HTTP/1.1", name: "list-protobuf", gzip: true},
		{title: "initial events, JSON, HTTP/1.1", name: "initial-json"},
		{title: "initial events, protobuf, HTTP/1.1", name: "initial-protobuf"},
	}, measure.Received, measure.CPU, measure.PeakRSS)
}

// limits shows how far relist is from the least that can be done with the same bytes.
func limits(ctx context.Context, r *runner) (report, error) {
	return r.alone(ctx, []way{
		{title: "list, JSON", name: "limit-list-json"},
		{title: "list, protobuf", name: "limit-list-protobuf"},
		{title: "watch, JSON", name: "limit-watch-json"},
		{title: "watch, protobuf", name: "limit-watch-protobuf"},
	}, "read, MB/s", "scan, MB/s", "decode, MB/s", "relist, MB/s")
}

// sharing shows what Options.ShareParts brings.
func sharing(ctx context.Context, r *runner) (report, error) {
	return r.alone(ctx, []way{
		{title: "JSON", name: "list-json"},
		{title: "JSON, ShareParts", name: "list-json", shareParts: true},
		{title: "protobuf", name: "list-protobuf"},
		{title: "protobuf, ShareParts", name: "list-protobuf", shareParts: true},
		{title: "Unstructured", name: "list-unstructured"},
		{title: "Unstructured, ShareParts", name: "list-unstructured", shareParts: true},
	}, measure.CPU, measure.LiveHeap, measure.PeakRSS)
}

// alone shows what relist takes on each way. Only relist runs, because client-go has fewer ways.
func (r *runner) alone(ctx context.Context, ways []way, metrics ...string) (report, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "| | %s |\n| --- |%s\n", strings.Join(metrics, " | "), strings.Repeat(" ---: |", len(metrics)))
	all := cases.All()
	for _, w := range ways {
		c := all[slices.IndexFunc(all, func(c cases.Case) bool { return c.Name == w.name })]
		var results []measure.Result
		for run := range r.runs {
			r.progress(c.Name, run, w.title)
			result, err := r.once(ctx, c, programs[0], r.amount(c), w)
			if err != nil {
				return report{}, err
			}
			results = append(results, result)
		}
		fmt.Fprintf(&text, "| %s |", w.title)
		for _, m := range metrics {
			fmt.Fprintf(&text, " %s |", number(median(values(results, m))))
		}
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "\nMedian of %d.\n", r.runs)
	return report{text: text.String()}, nil
}
