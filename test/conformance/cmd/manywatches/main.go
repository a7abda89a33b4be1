// Command manywatches measures how soon many watches are open that a program begins at the same
// time, over HTTP/2 to a real kube-apiserver. It compares relist's own pool of connections with
// that of net/http: a server allows some streams on each (kube-apiserver 100).
//
//	go run ./cmd/manywatches -watches 250,500
//	go run ./cmd/manywatches -watches 250 -streams 128       # a proxy in between that allows 128
//	go run ./cmd/manywatches -watches 250 -goaway-chance 0.02
//
// The programs of `make conformance-bin` must be there.
package main

import (
	"context"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "manywatches:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	counts := flag.String("watches", "250,500", "numbers of watches")
	runs := flag.Int("runs", 5, "runs of each; the median is printed, with the longest")
	streams := flag.Int("streams", 0, "streams that a proxy in between allows on a connection; 0: no proxy")
	goAway := flag.Float64("goaway-chance", 0, "how often the server gives up a connection at a request; 0.02 at most")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := cluster.Start(ctx, cluster.Options{APIServerFlags: []string{"--goaway-chance=" + strconv.FormatFloat(*goAway, 'f', -1, 64)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	base, err := transport.LoadKubeconfig(transport.KubeconfigOptions{Path: c.Kubeconfig()})
	if err != nil {
		return err
	}
	if base.TLS.CAData, err = os.ReadFile(base.TLS.CAFile); err != nil {
		return err
	}
	base.TLS.CAFile = ""
	server, err := newServer(base)
	if err != nil {
		return err
	}
	if *streams > 0 {
		front, err := startProxy(c.Access(), *streams)
		if err != nil {
			return err
		}
		defer front.Close()
		base.Server = front.URL
		base.TLS.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	}

	fmt.Println("| watches | connections by | last one open | lost | sent more than once | connections |")
	fmt.Println("| ---: | --- | ---: | ---: | ---: | ---: |")
	for _, count := range strings.Split(*counts, ",") {
		n, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		for _, way := range ways {
			var all []result
			for range *runs {
				r, err := measure(ctx, server, base, way, n)
				if err != nil {
					return fmt.Errorf("%s: %w", way.name, err)
				}
				all = append(all, r)
			}
			report(n, way.name, all)
		}
	}
	return nil
}

func report(n int, name string, all []result) {
	slices.SortFunc(all, func(a, b result) int { return int(a.open - b.open) })
	var sum result
	for _, r := range all {
		sum.lost, sum.again, sum.connections = sum.lost+r.lost, sum.again+r.again, max(sum.connections, r.connections)
	}
	fmt.Printf("| %d | %s | %v (%v) | %d | %d | %d |\n", n, name, all[len(all)/2].open.Round(time.Millisecond), all[len(all)-1].open.Round(time.Millisecond), sum.lost, sum.again, sum.connections)
}
