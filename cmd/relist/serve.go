package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
)

// serveFlags are the flags of `relist serve`.
type serveFlags struct {
	listen   string
	objects  int
	rate     float64
	replicas int
	hosts    []string
	origins  []string
}

// faultsPath is where the server has its fault switches.
const faultsPath = "/_faults/"

func newServe() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run an API server for tests, with faults on demand",
		Long: `Run an API server for tests until Ctrl-C. It keeps objects in memory, behaves as
kube-apiserver does where lists and watches are concerned, and asks for no credential.
Whoever can reach it can do everything: leave it on loopback. Web pages cannot reach it:
requests for a host other than localhost or an address, and requests of pages from
elsewhere, are refused unless they are allowed.

It prints a line for each address: "serving URL" for the API, one for each replica, and
"faults URL" for the switches that make it misbehave.`,
		Example: `  relist serve --listen 127.0.0.1:8080 --objects 1000 --rate 50
  relist mirror configmaps -A --server http://127.0.0.1:8080
  kubectl --server http://127.0.0.1:8080 get configmaps -A -w
  curl http://127.0.0.1:8080/_faults/                # what can be broken
  curl -X POST 'http://127.0.0.1:8080/_faults/fail?verb=watch&status=410&reason=Expired'
  curl -X POST http://127.0.0.1:8080/_faults/cut     # the next watch gets the 410`,
		Args:    noArgs,
		PreRunE: func(*cobra.Command, []string) error { return f.check() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "`address` to serve on; port 0 is any free one")
	flags.IntVar(&f.objects, "objects", 0, "number of ConfigMaps to begin with, in several namespaces")
	flags.Float64Var(&f.rate, "rate", 0, "changes to them a second")
	flags.IntVar(&f.replicas, "replicas", 1, "number of servers over the same objects, each with its own watch cache;\neach after the first is on the next port, or any free one")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "`name` that requests may be for, besides addresses and localhost;\nmay be given several times")
	flags.StringSliceVar(&f.origins, "allow-origin", nil, "web page that may use the server, such as https://console.test;\nmay be given several times")
	return cmd
}

func (f *serveFlags) check() error {
	switch {
	case f.objects < 0:
		return usage("--objects %d: want 0 or more", f.objects)
	case f.rate < 0:
		return usage("--rate %v: want 0 or more", f.rate)
	case f.replicas < 1:
		return usage("--replicas %d: want 1 or more", f.replicas)
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return usage("--listen %q: want HOST:PORT, such as 127.0.0.1:8080", f.listen)
	}
	return nil
}

func (f *serveFlags) run(cmd *cobra.Command) (err error) {
	server := apitest.New(apitest.Options{CBOR: true, AllowedHosts: f.hosts, AllowedOrigins: f.origins})
	defer func() { err = errors.Join(err, server.Close()) }()
	changes := churn.New(server, 1)
	if err := changes.Fill(f.objects); err != nil {
		return err
	}
	urls, err := f.listenAll(server)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, url := range urls {
		lines.WriteString("serving " + url + "\n")
	}
	lines.WriteString("faults " + urls[0] + faultsPath + "\n")
	if _, err := io.WriteString(cmd.OutOrStdout(), lines.String()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return changes.Run(cmd.Context(), f.rate)
}

// listenAll opens an address for each replica.
func (f *serveFlags) listenAll(server *apitest.Server) ([]string, error) {
	first, err := server.Listen(f.listen)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address with --listen", err)
	}
	urls := []string{first.URL}
	for i := 1; i < f.replicas; i++ {
		l, err := server.Replica("replica-" + strconv.Itoa(i)).Listen(f.nextAddress(i))
		if err != nil {
			return nil, fmt.Errorf("%w; choose another address with --listen", err)
		}
		urls = append(urls, l.URL)
	}
	return urls, nil
}

// nextAddress is the address of the replica after i others.
func (f *serveFlags) nextAddress(i int) string {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil {
		// unreachable: check has split it.
		panic("relist: " + err.Error())
	}
	if n, err := strconv.Atoi(port); err == nil && n > 0 {
		port = strconv.Itoa(n + i)
	}
	return net.JoinHostPort(host, port)
}
