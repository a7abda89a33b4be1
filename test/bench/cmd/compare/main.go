// Command compare runs relist and two versions of client-go in turn, each in a process of
// its own against a load server in another, and prints the cost of each and the ratio.
//
//	go run ./cmd/compare                                   every case
//	go run ./cmd/compare -case=list-json -objects=2000 -runs=3
//	go run ./cmd/compare -list                             what cases there are
//	go run ./cmd/compare -update                           writes the figures into their pages
//
// It runs in test/bench/, which is where it finds the programs and the Pods.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// pageRuns is how often each program runs for the tables of the pages.
const pageRuns = 9

type options struct {
	names   string
	runs    int
	objects int
	smoke   bool
	update  bool
	profile string
}

func main() {
	var o options
	flag.StringVar(&o.names, "case", "", "`names` of cases, with commas; the default is all")
	flag.IntVar(&o.runs, "runs", pageRuns, "how `often` each program runs")
	flag.IntVar(&o.objects, "objects", 0, "`number` of objects, or of informers; the default is the case's")
	flag.BoolVar(&o.smoke, "smoke", false, "run each case once, with few objects, and see only whether it works")
	flag.BoolVar(&o.update, "update", false, "write the figures into the pages below docs; not with other numbers of runs and objects than the default")
	flag.StringVar(&o.profile, "profile", "", "`directory` for CPU and memory profiles of the last run of each program")
	list := flag.Bool("list", false, "print the names of the cases")
	flag.Parse()
	if *list {
		for _, s := range sections() {
			fmt.Printf("%-22s %s\n", s.name, s.title)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	wanted, err := choose(sections(), o.names)
	if err != nil {
		return err
	}
	if o.update && (o.smoke || o.runs != pageRuns || o.objects != 0) {
		return errors.New("the tables of the pages are of the default number of runs and objects")
	}
	bin, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(bin) }() // a temporary directory
	if err := build(ctx, bin); err != nil {
		return err
	}
	if o.smoke {
		o.runs = 1
	}
	r := &runner{options: o, bin: bin}
	var failed []string
	for _, s := range wanted {
		measured, err := s.run(ctx, r)
		if err == nil && o.update {
			err = update(pages, s.name, measured)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "compare: %s: %v\n", s.name, err)
			failed = append(failed, s.name)
			continue
		}
		fmt.Printf("### %s\n\n%s\n", s.title, measured.text)
	}
	if failed != nil {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}
