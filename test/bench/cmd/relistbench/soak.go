package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"time"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
)

// soak runs informers of the load server for a long time, and prints what they take after each
// interval, as rows of a table. Each informer has a client of its own, as if each were of another
// cluster. Objects change all the time, so that what a cache does not give back adds up. In each
// interval, one watch expires, and a tenth of the objects have changed when it lists again.
//
//	go run ./cmd/load -pods 20000                                   # prints a URL
//	go run ./cmd/relistbench soak -server URL -object packed
//	go run ./cmd/relistbench soak -server URL -object slim -clusters 10 -rate 0 -for 1m
func soak(ctx context.Context, args []string) error {
	kinds := map[string]cases.Object{
		"typed": cases.Typed, "slim": cases.Slim, "lazy": cases.Lazy, "unchecked": cases.Unchecked, "packed": cases.Packed,
	}
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	url := flags.String("server", "", "`URL` of the load server")
	kind := flags.String("object", "unchecked", "`kind` of object: typed, slim, lazy, unchecked or packed")
	protobuf := flags.Bool("protobuf", false, "ask for protobuf")
	clusters := flags.Int("clusters", 1, "`number` of informers")
	rate := flags.Int("rate", 500, "`number` of changes a second; none if 0")
	interval := flags.Duration("interval", time.Minute, "time between two rows")
	length := flags.Duration("for", 30*time.Minute, "time in all")
	_ = flags.Parse(args) // ExitOnError
	object, ok := kinds[*kind]
	if !ok {
		return fmt.Errorf("there are no objects of kind %q", *kind)
	}
	spec := cases.Spec{Object: object}
	if *protobuf {
		spec.Encoding = objects.Protobuf
	}
	fmt.Println("| clusters | time | objects | RSS, MB | live heap, MB | RSS after a collection, MB | goroutines |\n| --- | --- | --- | --- | --- | --- | --- |")
	var informers []cases.Informer
	row := func(began time.Time) {
		count := 0
		for _, in := range informers {
			count += len(in.Keys())
		}
		const mb = 1e6
		before := float64(measure.Resident()) / mb
		live := float64(measure.HeapInUse()) / mb
		fmt.Printf("| %d | %v | %d | %.1f | %.1f | %.1f | %d |\n", len(informers), time.Since(began).Round(time.Second), count,
			before, live, float64(measure.Resident())/mb, runtime.NumGoroutine())
	}
	began := time.Now()
	for range *clusters {
		c, err := connect(cases.Access{URL: *url}, cases.Case{})
		if err != nil {
			return err
		}
		in, err := c.Start(ctx, spec, func(any, bool) {})
		if err != nil {
			return err
		}
		for in.Version() == "" {
			if err := sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
		informers = append(informers, in)
		row(began)
	}
	for *rate > 0 && time.Since(began) < *length {
		n := float64(*rate) * interval.Seconds()
		if _, err := cases.Post(ctx, fmt.Sprintf("%s/bench/change?count=%.0f&rate=%d", *url, n, *rate)); err != nil {
			return err
		}
		row(began)
		if _, err := cases.Post(ctx, fmt.Sprintf("%s/bench/expire?count=%d", *url, len(informers[0].Keys())/10)); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
