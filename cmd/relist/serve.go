package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/relist/internal/churn"
)

type serveFlags struct {
	listen   string
	objects  int
	pods     int
	custom   []string
	rate     float64
	replicas int
	hosts    []string
	origins  []string
	tls      bool
	log      bool
	period   time.Duration

	window     int
	timeout    time.Duration
	freshness  time.Duration
	noProgress bool
}

// faultsPath is where the server has its fault switches.
const faultsPath = "/_faults/"

func newServe() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run an API server for tests, with faults on demand",
		Long: `Run an API server for tests until Ctrl-C. It keeps objects in memory, behaves
as kube-apiserver does where lists and watches are concerned, and asks for no
credential. Whoever can reach it can do everything: leave it on loopback. Web
pages cannot reach it: requests for a host other than localhost or an address,
and requests of pages from elsewhere, are refused unless they are allowed.

It prints a line for each address: "serving URL" for the API, "serving URL
replica-1" and so on for the other replicas, and "faults URL" for the switches
that make it misbehave. With --tls, a line "ca FILE" comes first: the authority
that clients have to trust.`,
		Example: `  relist serve --listen 127.0.0.1:8080 --objects 1000 --rate 50
  relist mirror configmaps -A --server http://127.0.0.1:8080
  kubectl --server http://127.0.0.1:8080 get configmaps -A -w
  curl http://127.0.0.1:8080/_faults/                # what can be broken
  curl 'http://127.0.0.1:8080/_faults/watches?resource=configmaps'   # waits for a watch
  curl -X POST 'http://127.0.0.1:8080/_faults/fail?verb=watch&status=410&reason=Expired'
  curl -X POST http://127.0.0.1:8080/_faults/cut   # the next watch gets the 410`,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           func(*cobra.Command, []string) error { return f.check() },
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "`address` to serve on; port 0 is any free one")
	flags.IntVar(&f.objects, "objects", 0, "number of ConfigMaps to begin with, in several namespaces")
	flags.IntVar(&f.pods, "pods", 0, "number of Pods to begin with, in several namespaces and on\nten nodes")
	flags.StringSliceVar(&f.custom, "custom", nil, "custom `type` to serve, such as orders.shop.example.com/v1/Order;\nmay be given several times")
	flags.Float64Var(&f.rate, "rate", 0, "changes to the ConfigMaps each second")
	flags.IntVar(&f.replicas, "replicas", 1, "number of servers over the same objects, each with its own watch cache;\neach after the first is on the next port, or any free one")
	flags.BoolVar(&f.tls, "tls", false, "serve HTTP/2 and HTTP/1.1 over TLS, by an authority of its own")
	flags.BoolVar(&f.log, "log", false, "log each request on stderr")
	flags.DurationVar(&f.period, "bookmark-period", time.Minute, "time between the bookmarks of a quiet watch; 0s for none. As in kube-apiserver,\na watch from the newest version gets none before the next write of any type")
	flags.IntVar(&f.window, "window", 1000, "number of changes of each type that can be watched from; older versions\nget a 410")
	flags.DurationVar(&f.timeout, "watch-timeout", 45*time.Minute, "how long a watch lasts if its client names no time")
	flags.DurationVar(&f.freshness, "freshness", 3*time.Second, "how long a request waits for a version that the cache has not reached")
	flags.BoolVar(&f.noProgress, "no-progress", false, "let the caches of idle types stand still: with --replicas, the newer server's\nversions can be too large for the older one")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "`name` that requests may be for, besides addresses and localhost;\nmay be given several times")
	flags.StringSliceVar(&f.origins, "allow-origin", nil, "`origin` of web pages that may use the server, such as https://console.test;\nmay be given several times")
	return cmd
}

func (f *serveFlags) check() error {
	switch {
	case f.objects < 0:
		return cli.Usage("--objects %d: want 0 or more", f.objects)
	case f.pods < 0:
		return cli.Usage("--pods %d: want 0 or more", f.pods)
	case f.rate < 0:
		return cli.Usage("--rate %v: want 0 or more", f.rate)
	case f.period < 0:
		return cli.Usage("--bookmark-period %v: want 0s or more", f.period)
	case f.window < 1:
		return cli.Usage("--window %d: want 1 or more", f.window)
	case f.timeout <= 0:
		return cli.Usage("--watch-timeout %v: want more than 0s", f.timeout)
	case f.freshness < 0:
		return cli.Usage("--freshness %v: want 0s or more", f.freshness)
	case f.replicas < 1:
		return cli.Usage("--replicas %d: want 1 or more", f.replicas)
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return cli.Usage("--listen %q: want HOST:PORT, such as 127.0.0.1:8080", f.listen)
	}
	return nil
}

func (f *serveFlags) run(cmd *cobra.Command) (err error) {
	options := apitest.Options{
		AllowedHosts: f.hosts, AllowedOrigins: f.origins, BookmarkPeriod: f.period,
		Window: f.window, WatchTimeout: f.timeout, FreshnessTimeout: f.freshness, NoProgress: f.noProgress,
	}
	if f.period == 0 {
		options.BookmarkPeriod = -1 // none
	}
	if f.freshness == 0 {
		options.FreshnessTimeout = -1 // none
	}
	for _, custom := range f.custom {
		resource, err := customType(custom)
		if err != nil {
			return err
		}
		if options.Resources == nil {
			options.Resources = apitest.DefaultResources()
		}
		options.Resources = append(options.Resources, resource)
	}
	if f.log {
		options.Log = requestLog(cmd.ErrOrStderr())
	}
	server := apitest.New(options)
	defer func() { err = errors.Join(err, server.Close()) }()
	changes := churn.New(server, 1)
	if err := changes.Fill(f.objects); err != nil {
		return err
	}
	if err := churn.FillPods(server, f.pods); err != nil {
		return err
	}
	// Its UID identifies a cluster.
	if _, err := server.Create("namespaces", map[string]any{"metadata": map[string]any{"name": metav1.NamespaceSystem}}); err != nil {
		return err
	}
	urls, ca, err := f.listenAll(server)
	if err != nil {
		return err
	}
	var lines strings.Builder
	if ca != nil {
		file, failed := writeAuthority(ca)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(file))) }()
		lines.WriteString("ca " + file + "\n")
	}
	lines.WriteString("serving " + urls[0] + "\n")
	for i, url := range urls[1:] {
		lines.WriteString("serving " + url + " " + replicaName(i+1) + "\n")
	}
	lines.WriteString("faults " + urls[0] + faultsPath + "\n")
	if _, err := io.WriteString(cmd.OutOrStdout(), lines.String()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return changes.Run(cmd.Context(), f.rate)
}

// customType reads plural.group/version/Kind. Each such type has namespaces and a status.
func customType(text string) (apitest.Resource, error) {
	r := apitest.Resource{Custom: true, Status: true}
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		r.Plural, r.Group, _ = strings.Cut(parts[0], ".")
		r.Version, r.Kind = parts[1], parts[2]
	}
	if r.Plural == "" || r.Group == "" || r.Version == "" || r.Kind == "" {
		return r, cli.Usage("--custom %q: want PLURAL.GROUP/VERSION/KIND, such as orders.shop.example.com/v1/Order", text)
	}
	return r, nil
}

// listenAll opens an address for each replica, and returns the authority of their certificates if
// there is one.
func (f *serveFlags) listenAll(server *apitest.Server) (urls []string, ca []byte, err error) {
	for i := range f.replicas {
		var on listens = server
		if i > 0 {
			on = server.Replica(replicaName(i))
		}
		listen := on.Listen
		if f.tls {
			listen = on.ListenTLS
		}
		l, err := listen(f.nextAddress(i))
		if err != nil {
			return nil, nil, fmt.Errorf("%w; choose another address with --listen", err)
		}
		urls, ca = append(urls, l.URL), l.CA
	}
	return urls, ca, nil
}

// replicaName is the name of the replica after i others, in faults.
func replicaName(i int) string { return "replica-" + strconv.Itoa(i) }

// listens is what a server and a replica have in common.
type listens interface {
	Listen(addr string) (*apitest.Listener, error)
	ListenTLS(addr string) (*apitest.Listener, error)
}

// writeAuthority puts the authority where other programs can read it, in a folder of its own.
func writeAuthority(ca []byte) (file string, err error) {
	dir, err := os.MkdirTemp("", "relist-serve-")
	if err != nil {
		return "", fmt.Errorf("write the authority of --tls: %w", err)
	}
	file = filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		return "", fmt.Errorf("write the authority of --tls: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	return file, nil
}

// requestLog returns what writes a line for each request. What clients send is quoted.
func requestLog(w io.Writer) func(apitest.LoggedRequest) {
	var mu sync.Mutex
	return func(r apitest.LoggedRequest) {
		outcome := fmt.Sprintf("%d, %d bytes in %v", r.Status, r.Bytes, r.Took.Round(time.Microsecond))
		switch {
		case r.Began:
			outcome = fmt.Sprintf("%d, watching", r.Status)
		case r.Status == 0:
			outcome = fmt.Sprintf("broken off after %v", r.Took.Round(time.Microsecond))
		}
		line := fmt.Sprintf("%s %s %s %q %s by %q\n", r.Begin.Format("15:04:05.000"), r.Proto, r.Method, r.URI, outcome, r.UserAgent)
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, line) // the server goes on without its log
	}
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
