package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

type settings struct {
	home     string
	peers    string
	faults   string
	runs     int
	parallel int
	loud     int
	out      string
	render   bool
	update   bool
	list     bool
	verbose  bool
}

func main() {
	var s settings
	flag.StringVar(&s.home, "home", "peers", "`folder` of the programs")
	flag.StringVar(&s.peers, "peers", "", "`names` of clients, or of libraries, with commas (default: all that can be built here)")
	flag.StringVar(&s.faults, "faults", "", "`names` of faults, with commas (default: all)")
	flag.IntVar(&s.runs, "runs", 1, "how often each client meets each fault")
	flag.IntVar(&s.parallel, "parallel", 10, "trials at a time of each kind: slow to start, quick to start, and lasting minutes")
	flag.IntVar(&s.loud, "loud", 3, "trials at a time in which a client takes all the CPU there is; they come last")
	flag.StringVar(&s.out, "out", "run/peers.jsonl", "`file` that results are added to, one a line")
	flag.BoolVar(&s.render, "render", false, "play nothing, and take the results from the files that are named as arguments")
	flag.BoolVar(&s.update, "update", false, "write the tables of test/clients.md")
	flag.BoolVar(&s.list, "list", false, "print the names of clients and faults")
	flag.BoolVar(&s.verbose, "v", false, "print the last that a client has said on stderr")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, s, flag.Args(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, files []string, out io.Writer) error {
	if s.list {
		for _, c := range clients {
			say(out, "client  %-20s %s\n", c.name, c.label)
		}
		for _, f := range faults {
			say(out, "fault   %-20s %s\n        by hand: %s; the clock starts when %s\n", f.name, f.what, byHand(f.steps), cmp.Or(f.since, sinceOver))
		}
		return nil
	}
	var results []result
	var err error
	if s.render {
		results, err = readResults(files)
	} else {
		results, err = play(ctx, s, out)
	}
	if err != nil {
		return err
	}
	page := tables(results)
	say(out, "\n%s", page)
	for _, line := range slowest(results) {
		say(out, "%s\n", line)
	}
	if s.update {
		return writePage(s.home, page)
	}
	return nil
}

// say tells whoever has started the driver how it goes. If they do not listen, it goes on.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// play builds the clients, plays the faults to them, and returns what came of it.
func play(ctx context.Context, s settings, out io.Writer) ([]result, error) {
	chosen, err := choose(s)
	if err != nil {
		return nil, err
	}
	chosen.clients, err = build(ctx, s.home, chosen.clients, s.peers != "", out)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(s.out), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(s.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	p := &pool{settings: s, out: out, file: json.NewEncoder(file), starts: make(chan struct{}, 3)}
	long, loud, slow, rest := chosen.trials(s.home, s.runs)
	var all sync.WaitGroup
	for _, trials := range [][]*trial{long, slow, rest} {
		all.Go(func() { p.play(ctx, trials, s.parallel) })
	}
	all.Wait()
	p.play(ctx, loud, s.loud)
	return p.results, errors.Join(append(p.errs, ctx.Err())...)
}

// choice is what is to be played to whom.
type choice struct {
	clients []client
	faults  []fault
}

func choose(s settings) (choice, error) {
	var c choice
	for name := range strings.SplitSeq(s.peers, ",") {
		n := len(c.clients)
		for _, k := range clients {
			if name == "" || name == k.name || name == k.program.folder {
				c.clients = append(c.clients, k)
			}
		}
		if len(c.clients) == n {
			return c, fmt.Errorf("no client is called %q: see -list", name)
		}
	}
	for name := range strings.SplitSeq(s.faults, ",") {
		n := len(c.faults)
		for _, f := range faults {
			if name == "" || name == f.name {
				c.faults = append(c.faults, f)
			}
		}
		if len(c.faults) == n {
			return c, fmt.Errorf("no fault is called %q: see -list", name)
		}
	}
	return c, nil
}

// trials returns what is to be done: what waits for minutes, what asks for all the CPU there is,
// what does so only to start, and the rest.
func (c choice) trials(home string, runs int) (long, loud, slow, rest []*trial) {
	for run := range runs {
		for _, f := range c.faults {
			for _, k := range c.clients {
				if len(k.only) > 0 && !slices.Contains(k.only, f.name) {
					continue
				}
				t := &trial{client: k, fault: f, run: run + 1, home: home}
				switch {
				case f.patience > 5*time.Minute:
					long = append(long, t)
				case slices.Contains(f.loud, k.name):
					loud = append(loud, t)
				case k.program.slow:
					slow = append(slow, t)
				default:
					rest = append(rest, t)
				}
			}
		}
	}
	return long, loud, slow, rest
}

// pool plays several trials at a time.
type pool struct {
	settings settings
	out      io.Writer
	starts   chan struct{} // holds one for each slow client that is starting

	mu      sync.Mutex
	file    *json.Encoder
	results []result
	errs    []error
}

func (p *pool) play(ctx context.Context, trials []*trial, atATime int) {
	free := make(chan struct{}, max(1, atATime))
	var all sync.WaitGroup
	for i, t := range trials {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			all.Wait()
			return
		}
		all.Go(func() {
			defer func() { <-free }()
			r, err := t.play(ctx, p.starts)
			p.add(r, err, len(trials)-i-1)
		})
	}
	all.Wait()
}

func (p *pool) add(r result, err error, left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.errs = append(p.errs, fmt.Errorf("%s to %s: %w", r.Fault, r.Client, err))
		say(p.out, "%s %-20s %-18s FAILED: %v\n", time.Now().Format(time.TimeOnly), r.Fault, r.Client, err)
		return
	}
	p.results = append(p.results, r)
	say(p.out, "%s %-20s %-18s %-10s %6d requests; %d to begin\n", time.Now().Format(time.TimeOnly), r.Fault, r.Client, r, r.Requests, left)
	if p.settings.verbose && r.Said != "" {
		say(p.out, "    %s\n", strings.ReplaceAll(strings.TrimSpace(r.Said), "\n", "\n    "))
	}
	if err := p.file.Encode(r); err != nil {
		p.errs = append(p.errs, fmt.Errorf("add to %s: %w", p.settings.out, err))
	}
}

func readResults(files []string) ([]result, error) {
	var all []result
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(file); ; {
			var r result
			if err = d.Decode(&r); err != nil {
				break
			}
			all = append(all, r)
		}
		if closed := file.Close(); !errors.Is(err, io.EOF) || closed != nil {
			return nil, fmt.Errorf("read %s: %w", name, errors.Join(err, closed))
		}
	}
	return all, nil
}
