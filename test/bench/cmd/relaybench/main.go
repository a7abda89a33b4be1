// Command relaybench measures a relay between many informers and a server: what the server has to
// send, what the relay takes, and how late an event is at its reader. The same informers then read
// from the server itself.
//
//	go run ./cmd/relaybench                        # in test/bench; 1,000 informers of relist and 1,000 of client-go
//	go run ./cmd/relaybench -growth=10,100,1000,5000   # what the relay takes for so many readers
//	go run ./cmd/relaybench -smoke                 # everything, with few of all: does it work?
//
// Each informer follows the Pods of one node, as an agent on that node does, over a connection of
// its own: HTTP/2 and TLS. The server, the relay and every 250 informers are processes. The server
// is that of package load, which answers as kube-apiserver does and takes less: so nothing is said
// of its CPU.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relist-go/relist/test/bench/objects"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "relaybench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "relay":
			return serveRelay(ctx, os.Args[2:])
		case "readers":
			return read(ctx, os.Args[2:])
		}
	}
	b := &bench{}
	growth := flag.String("growth", "", "`numbers` of readers, instead of the informers")
	smoke := flag.Bool("smoke", false, "few of all")
	flag.IntVar(&b.pods, "pods", 20_000, "`number` of Pods, a multiple of 500")
	flag.IntVar(&b.rate, "rate", 200, "changes a second")
	flag.IntVar(&b.changes, "changes", 6_000, "`number` of changes, a multiple of 500")
	flag.IntVar(&b.each, "each", 1_000, "`number` of informers of relist, and of client-go")
	flag.IntVar(&b.together, "together", 250, "readers of a process")
	flag.Parse()
	if *smoke {
		b.pods, b.changes, b.each, b.together = 500, 500, 6, 3
	}
	if b.pods%objects.Nodes != 0 || b.changes%objects.Nodes != 0 || b.changes == 0 {
		return errors.New("-pods and -changes are multiples of 500, so that each node gets the same")
	}
	stop, err := b.build(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if *growth == "" || *smoke {
		if err := b.informers(ctx); err != nil {
			return err
		}
		if *smoke {
			*growth = "1,5"
		}
	}
	if *growth == "" {
		return nil
	}
	return b.growth(ctx, *growth)
}

// informers prints what informers of both kinds take with the relay and without.
func (b *bench) informers(ctx context.Context) error {
	var columns []measured
	for _, relayed := range []bool{true, false} {
		m, err := b.measure(ctx, relayed, []readers{{"relist", b.each}, {"client-go", b.each}})
		if err != nil {
			return err
		}
		columns = append(columns, m)
	}
	row := func(what string, value func(measured) string) {
		fmt.Printf("| %s | %s | %s |\n", what, value(columns[0]), value(columns[1]))
	}
	fmt.Printf("\n%d informers of relist and %d of client-go, %d Pods, %d changes, %d a second:\n\n", b.each, b.each, b.pods, b.changes, b.rate)
	fmt.Print("| | through a relay | without |\n| --- | ---: | ---: |\n")
	row("watches at the server", func(m measured) string { return strconv.Itoa(m.watches) })
	row("the server sends until all have their first state, MB", func(m measured) string { return fmt.Sprintf("%.0f", m.first/1e6) })
	row("the server sends a second while Pods change, MB", func(m measured) string { return fmt.Sprintf("%.2f", m.steady/1e6) })
	row("the relay's CPU until then, s", func(m measured) string {
		return m.relay(func(r taken) string { return fmt.Sprintf("%.1f", r.firstCPU) })
	})
	row("the relay's CPU while Pods change, of a core", func(m measured) string {
		return m.relay(func(r taken) string { return fmt.Sprintf("%.0f %%", 100*r.steadyCPU) })
	})
	row("the relay's memory, MB", func(m measured) string {
		return m.relay(func(r taken) string { return fmt.Sprintf("%.0f", r.resident/1e6) })
	})
	row("lag at relist, p50 and p99", func(m measured) string { return m.lag("relist") })
	row("lag at client-go, p50 and p99", func(m measured) string { return m.lag("client-go") })
	return nil
}

// growth prints what the relay takes for more and more readers, which read and decode nothing.
func (b *bench) growth(ctx context.Context, numbers string) error {
	fmt.Printf("\nReaders of %d Pods, %d changes a second:\n\n", b.pods, b.rate)
	fmt.Print("| readers | watches at the server | the relay's CPU, of a core | memory, MB | heap, MB | goroutines | lag, p50 and p99 |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, text := range strings.Split(numbers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		m, err := b.measure(ctx, true, []readers{{"raw", n}})
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %d | %.0f %% | %.0f | %.0f | %d | %s |\n",
			n, m.watches, 100*m.taken.steadyCPU, m.taken.resident/1e6, m.taken.heap/1e6, m.taken.goroutines, m.lag("raw"))
	}
	return nil
}

type readers struct {
	kind  string
	count int
}

// measured is what one run has shown.
type measured struct {
	watches       int     // at the server
	first, steady float64 // bytes that it sent: until all had their first state, and each second from then on
	taken         *taken  // nil without a relay
	lags          map[string][]time.Duration
}

// taken is what the relay took.
type taken struct {
	firstCPU, steadyCPU float64 // seconds, and of a core
	resident, heap      float64 // bytes
	goroutines          int
}

func (m measured) relay(format func(taken) string) string {
	if m.taken == nil {
		return ""
	}
	return format(*m.taken)
}

func (m measured) lag(kind string) string {
	lags := m.lags[kind]
	if len(lags) == 0 {
		return "none"
	}
	slices.Sort(lags)
	at := func(percent int) float64 { return float64(lags[len(lags)*percent/100]) / float64(time.Millisecond) }
	return fmt.Sprintf("%.1f and %.1f ms", at(50), at(99))
}
