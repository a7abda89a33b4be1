package main

import (
	"context"

	"github.com/relist-go/relist/test/bench/measure"
)

// sharing shows what Options.ShareParts brings, for Pods that are unlike and for alike ones.
func sharing(ctx context.Context, r *runner) (string, error) {
	var ways []way
	for _, c := range []struct{ title, name string }{
		{"JSON", "list-json"}, {"protobuf", "list-protobuf"}, {"Unstructured", "list-unstructured"},
	} {
		ways = append(ways,
			way{title: c.title + ", unlike Pods", name: c.name},
			way{title: c.title + ", unlike Pods, ShareParts", name: c.name, shareParts: true},
			way{title: c.title + ", alike Pods", name: c.name, alike: true},
			way{title: c.title + ", alike Pods, ShareParts", name: c.name, alike: true, shareParts: true},
		)
	}
	return r.alone(ctx, ways, measure.CPU, measure.LiveHeap, measure.PeakRSS)
}
