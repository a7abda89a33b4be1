package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"time"

	"github.com/relist-go/relist/test/bench/cases"
	"github.com/relist-go/relist/test/bench/measure"
)

// soak runs informers of the load server for a long time, and prints what they take after each
// minute, as rows of a table. Each informer has a client of its own, as if each were of another
// cluster. Objects change all the time, so that what a cache does not give back adds up. In each
// minute, one watch expires, and a tenth of the objects have changed when it lists again.
//
//	go run ./cmd/load -pods 20000                                   # prints a URL
//	go run ./cmd/relistbench soak -server URL -object packed
//	go run ./cmd/relistbench soak -server URL -object slim -clusters 10 -rate 0
func soak(ctx context.Context, args []string) error {
	kinds := map[string]cases.Object{"slim": cases.Slim, "unchecked": cases.Unchecked, "packed": cases.Packed}
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	url := flags.String("server", "", "`URL` of the load server")
	kind := flags.String("object", "unchecked", "`kind` of object: slim, unchecked or packed")
	clusters := flags.Int("clusters", 1, "`number` of informers")
	rate := flags.Int("rate", 500, "`number` of changes a second; none if 0")
	_ = flags.Parse(args) // ExitOnError
	object, ok := kinds[*kind]
	if !ok {
		return fmt.Errorf("there are no objects of kind %q", *kind)
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
		in, err := c.Start(ctx, cases.Spec{Object: object}, func(any, bool) {})
		if err != nil {
			return err
		}
		if err := cases.Poll(ctx, "the first list", func() bool { return in.Version() != "" }); err != nil {
			return err
		}
		informers = append(informers, in)
		row(began)
	}
	for *rate > 0 && time.Since(began) < 15*time.Minute {
		if _, err := cases.Post(ctx, fmt.Sprintf("%s/bench/change?count=%d&rate=%d", *url, 60*(*rate), *rate)); err != nil {
			return err
		}
		row(began)
		if _, err := cases.Post(ctx, fmt.Sprintf("%s/bench/expire?count=%d", *url, len(informers[0].Keys())/10)); err != nil {
			return err
		}
	}
	return nil
}
