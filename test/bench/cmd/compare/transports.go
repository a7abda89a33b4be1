package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/measure"
)

// A way is a combination of transport and encoding by which relist gets the Pods.
type way struct {
	title      string
	name       string // of the case
	http2      bool
	gzip       bool
	webSocket  bool
	alike      bool // the Pods
	shareParts bool
}

var ways = []way{
	{title: "list, JSON, HTTP/1.1", name: "list-json"},
	{title: "list, JSON, HTTP/2 and TLS", name: "list-json", http2: true},
	{title: "list, protobuf, HTTP/1.1", name: "list-protobuf"},
	{title: "list, protobuf, HTTP/2 and TLS", name: "list-protobuf", http2: true},
	{title: "list, CBOR, HTTP/1.1", name: "list-cbor"},
	{title: "list, JSON, gzip, HTTP/1.1", name: "list-json", gzip: true},
	{title: "list, protobuf, gzip, HTTP/1.1", name: "list-protobuf", gzip: true},
	{title: "initial events, JSON, HTTP/1.1", name: "initial-json"},
	{title: "initial events, JSON, HTTP/2 and TLS", name: "initial-json", http2: true},
	{title: "initial events, JSON, WebSocket", name: "initial-json", webSocket: true},
	{title: "initial events, protobuf, HTTP/1.1", name: "initial-protobuf"},
	{title: "initial events, protobuf, HTTP/2 and TLS", name: "initial-protobuf", http2: true},
	{title: "initial events, protobuf, WebSocket", name: "initial-protobuf", webSocket: true},
	{title: "initial events, CBOR, HTTP/1.1", name: "initial-cbor"},
	{title: "initial events, CBOR, WebSocket", name: "initial-cbor", webSocket: true},
}

// wayBudget is the budget of each way. It is small because there are many ways.
const wayBudget = budget / 4

// transports shows what each way takes. Only relist runs, because client-go has fewer ways.
func transports(ctx context.Context, r *runner) (string, error) {
	return r.alone(ctx, ways, measure.Received, measure.CPU, measure.PeakRSS)
}

// alone shows what relist takes on each way.
func (r *runner) alone(ctx context.Context, ways []way, metrics ...string) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "| | %s |\n| --- |%s\n", strings.Join(metrics, " | "), strings.Repeat(" ---: |", len(metrics)))
	all, least, most := cases.All(), mostRuns, 0
	for _, w := range ways {
		c := all[slices.IndexFunc(all, func(c cases.Case) bool { return c.Name == w.name })]
		a := r.amount(c)
		var results []measure.Result
		runs, err := r.repeat(wayBudget, func(run string) error {
			progress(c, run, w.title)
			result, err := r.once(ctx, c, programs[0], a, w)
			results = append(results, result)
			return err
		})
		if err != nil {
			return "", err
		}
		least, most = min(least, runs), max(most, runs)
		fmt.Fprintf(&text, "| %s |", w.title)
		for _, m := range metrics {
			fmt.Fprintf(&text, " %s |", number(median(values(results, m))))
		}
		text.WriteString("\n")
	}
	runs := strconv.Itoa(least)
	if most > least {
		runs += " to " + strconv.Itoa(most)
	}
	fmt.Fprintf(&text, "\nMedian of %s.\n", runs)
	return text.String(), nil
}
