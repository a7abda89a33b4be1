package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

type relayFlags struct {
	cli.Selection
	listen       string
	cert, key    string
	clientCA     string
	allowAll     bool
	anonymous    bool
	secrets      bool
	passOn       bool
	tokenTTL     time.Duration
	allowedTTL   time.Duration
	deniedTTL    time.Duration
	maxStaleness time.Duration
	dir          string
	saveEvery    time.Duration
	verify       time.Duration
}

func newRelay() *cobra.Command {
	f := &relayFlags{Selection: cli.Selection{Program: "relist"}}
	cmd := &cobra.Command{
		Use:   "relay RESOURCE[.VERSION.GROUP][,...]",
		Short: "Serve one watch of a cluster to many readers",
		Long: `Watch resources once, and serve lists and watches of them to any number of
readers, as the API server would, until Ctrl-C. Readers are programs that use
the Kubernetes API: client-go, relist, and clients in any language. They give
the address of the relay as that of their server. Each kubectl get goes on to
the API server, because it asks for the most recent state.

Lists and watches at a resourceVersion come from the relay's cache. Reads of the
most recent state, of one object without a resourceVersion, and in forms other
than JSON go to the API server. Everything else is refused. With --pass-on, it
is sent to the API server as the user who sends it, except for kubectl exec,
attach, cp and port-forward, which need the API server itself.

Readers have to say who they are: with a bearer token, which the API server is
asked about (TokenReview), or with a certificate of --client-ca. They may read
what the API server allows them (SubjectAccessReview), and with --allow-all
everything that the relay has. If readers lose the right, their watches end
within the time of --allowed-ttl (for a token, of --token-ttl) and half a
minute, if the API server answers.

The credential of the relay needs the rights get, list and watch for the
resources, create for tokenreviews and subjectaccessreviews, and with --pass-on
impersonate.

/healthz is 200 while the relay runs, /readyz once it has every resource.`,
		Example: `  relist relay pods,nodes,configmaps --listen :8443 --tls-cert tls.crt --tls-key tls.key
  relist relay pods --anonymous                 # on this machine, for a look
  kubectl --server http://127.0.0.1:8090 get pods -A -w --output-watch-events
  relist mirror pods -A --server http://127.0.0.1:8090
  relist relay pods --dir /var/lib/relay        # the next process goes on`,
		Args:              cli.SomeResources,
		PreRunE:           func(*cobra.Command, []string) error { return f.check() },
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, cli.ResourceNames(args)) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8090", "`address` to serve on; port 0 is any free one")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the certificate of the relay; it is read again when it changes")
	flags.StringVar(&f.key, "tls-key", "", "`file` with the certificate's key")
	flags.StringVar(&f.clientCA, "client-ca", "", "`file` with the authorities of readers' certificates, read at the start")
	flags.BoolVar(&f.allowAll, "allow-all", false, "let every reader who is known read all that the relay has")
	flags.BoolVar(&f.anonymous, "anonymous", false, "let everyone who can reach the address read all that the relay has;\nonly on loopback")
	flags.BoolVar(&f.secrets, "secrets", false, "relay secrets, if they are among the resources")
	flags.BoolVar(&f.passOn, "pass-on", false, "send other requests to the API server, as the user who sends them")
	flags.DurationVar(&f.tokenTTL, "token-ttl", 2*time.Minute, "how long to remember whose a token is")
	flags.DurationVar(&f.allowedTTL, "allowed-ttl", 5*time.Minute, "how long to remember that a reader may do something")
	flags.DurationVar(&f.deniedTTL, "denied-ttl", 30*time.Second, "how long to remember that a reader may not")
	flags.DurationVar(&f.maxStaleness, "max-staleness", 0, "answer 503 while the copy is staler than this, 3m or more\n(default: serve it, with its Age)")
	flags.StringVar(&f.dir, "dir", "", "`folder` for the last changes, so that the next process goes on where this\none ends")
	flags.DurationVar(&f.saveEvery, "save-every", time.Minute, "how often to save them there; they are saved at the end, too")
	flags.DurationVar(&f.verify, "verify", 6*time.Hour, "compare the cache with the API server after each period of this length, by a\nlist of metadata, and repair what differs; 0: never")
	f.Connect.Add(flags)
	return cmd
}

func (f *relayFlags) check() error {
	if err := f.Connect.Check(); err != nil {
		return &cli.UsageError{Err: err}
	}
	_, _, err := net.SplitHostPort(f.listen)
	loopback := isLoopback(f.listen)
	switch {
	case err != nil:
		return cli.Usage("--listen %q: want HOST:PORT, such as :8443", f.listen)
	case (f.cert == "") != (f.key == ""):
		return cli.Usage("--tls-cert and --tls-key belong together")
	case f.cert == "" && !loopback:
		return cli.Usage("--listen %s without --tls-cert: readers' tokens would be sent in the clear; give a certificate (127.0.0.1 needs none, but kubectl sends no token over http)", f.listen)
	case f.clientCA != "" && f.cert == "":
		return cli.Usage("--client-ca needs --tls-cert")
	case f.anonymous && !loopback:
		return cli.Usage("--anonymous is for addresses of this machine, such as --listen 127.0.0.1:8090")
	case f.anonymous && f.passOn:
		return cli.Usage("--anonymous and --pass-on cannot be used together")
	case f.anonymous && f.clientCA != "":
		return cli.Usage("--anonymous lets everyone in, with and without a certificate of --client-ca: leave one of them out")
	case f.saveEvery <= 0:
		return cli.Usage("--save-every has to be more than 0")
	case f.maxStaleness > 0 && f.maxStaleness < relay.MinStaleness:
		return cli.Usage("--max-staleness %v: want %v or more, because a type that does not change sends a bookmark once a minute", f.maxStaleness, relay.MinStaleness)
	case f.tokenTTL < 0 || f.allowedTTL < 0 || f.deniedTTL < 0 || f.maxStaleness < 0 || f.verify < 0:
		return cli.Usage("a time cannot be negative")
	}
	return nil
}

// isLoopback reports whether an address, with or without a port, is one of this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// anyoneHere lets in who names this machine. A page in a browser may send requests to a name of its
// own that leads here, and read the answers.
func anyoneHere(req *http.Request) (*relay.User, error) {
	if !isLoopback(req.Host) {
		return nil, nil
	}
	return &relay.User{Name: "system:anonymous"}, nil
}

func (f *relayFlags) run(cmd *cobra.Command, names []string) (err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	cfg, client, err := f.Client(ctx, stderr, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	opts := relay.Options{PassOn: f.passOn, MaxStaleness: f.maxStaleness, Dir: f.dir, SaveEvery: f.saveEvery, VerifyEvery: f.verify}
	if f.verify == 0 {
		opts.VerifyEvery = -1
	}
	logger := cli.NewLog(stderr, slog.LevelInfo)
	opts.OnProblem = func(err error) { logger.Warn("relist: problem of the relay", "error", err) }
	opts.OnRestored = func(resource discovery.Resource, objects int, version string) {
		logger.Info("relist: begins with a saved copy", "resource", resource.GroupResource(), "objects", objects, "resourceVersion", version)
	}
	opts.Trace = func(discovery.Resource) *reflector.Trace { return reflector.LogTrace(logger) }
	f.AllNamespaces = true
	for _, name := range names {
		resource, _, err := f.Find(ctx, stderr, client, cfg, name)
		if err != nil {
			return err
		}
		if resource.GroupResource().String() == "secrets" && !f.secrets {
			return cli.Usage("secrets are relayed only with --secrets, because the relay then holds all of them")
		}
		same := func(other discovery.Resource) bool {
			return other.GroupVersionResource == resource.GroupVersionResource
		}
		if !slices.ContainsFunc(opts.Resources, same) { // pods,po is one
			opts.Resources = append(opts.Resources, *resource)
		}
	}
	f.access(client, &opts)
	r, err := relay.New(client, opts)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: r, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	if srv.TLSConfig, err = f.tls(); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("%w; choose another address with --listen", err)
	}
	scheme := "http"
	if srv.TLSConfig != nil {
		scheme, listener = "https", tls.NewListener(listener, srv.TLSConfig)
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), "serving "+scheme+"://"+listener.Addr().String()+"\n"); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return serveUntil(ctx, srv, listener, r)
}

// serveUntil serves until ctx ends, and then gives the answers that are on their way some seconds.
func serveUntil(ctx context.Context, srv *http.Server, listener net.Listener, r *relay.Relay) error {
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	running, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	go func() {
		select {
		case failed = <-served:
			stop()
		case <-running.Done():
		}
	}()
	_ = r.Run(running) // it is the end of ctx
	if ctx.Err() == nil {
		return failed
	}
	end, cancel := context.WithTimeout(context.Background(), cli.StartTimeout)
	defer cancel()
	//nolint:contextcheck // ctx has ended
	if err := srv.Shutdown(end); err != nil {
		return srv.Close()
	}
	return nil
}

// access sets who may read, and what.
func (f *relayFlags) access(client *transport.Client, opts *relay.Options) {
	opts.Authorize = relay.AccessReviews(client, f.allowedTTL, f.deniedTTL)
	if f.allowAll || f.anonymous {
		opts.Authorize = relay.AllowAll
	}
	if f.anonymous {
		opts.Authenticate = anyoneHere
		return
	}
	opts.Authenticate = relay.FirstOf(relay.ClientCertificates, relay.TokenReviews(client, f.tokenTTL))
}

// tls returns how the relay shows who it is, or nil if there is no certificate.
func (f *relayFlags) tls() (*tls.Config, error) {
	if f.cert == "" {
		return nil, nil
	}
	files, err := certificateFiles(f.cert, f.key)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: files, NextProtos: []string{"h2", "http/1.1"}}
	if f.clientCA == "" {
		return cfg, nil
	}
	pem, err := os.ReadFile(f.clientCA)
	if err != nil {
		return nil, fmt.Errorf("read --client-ca: %w", err)
	}
	cfg.ClientCAs = x509.NewCertPool()
	if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read --client-ca: %s has no certificate in PEM", f.clientCA)
	}
	cfg.ClientAuth = tls.VerifyClientCertIfGiven
	return cfg, nil
}
