package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// Selection holds the flags that choose a server and its objects.
type Selection struct {
	// Program is what messages begin with.
	Program string

	Connect       connect.Flags
	Namespace     string
	AllNamespaces bool
	Labels        string
	Fields        string
	PageSize      int
}

// StartTimeout bounds the first request, so that a user soon learns that a command
// does not work. A program that supplies the credential may take longer: it may wait for
// the user to log in.
const StartTimeout = 4 * time.Second

// ResourceNames returns the resources that arguments name: pods,configmaps is two.
func ResourceNames(args []string) []string {
	return strings.FieldsFunc(strings.Join(args, ","), func(r rune) bool { return r == ',' })
}

// SomeResources checks that a command has at least one resource as its arguments.
func SomeResources(_ *cobra.Command, args []string) error {
	if len(ResourceNames(args)) == 0 {
		return Usage("name a resource, such as pods or deployments.apps")
	}
	return nil
}

// OneResource checks that a command has one argument, the resource.
func OneResource(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return Usage("name one resource, such as pods or deployments.apps")
	}
	return nil
}

// Add defines all flags except those of the connection. verb is what the command does
// with the objects.
func (s *Selection) Add(flags *pflag.FlagSet, verb string) {
	flags.StringVarP(&s.Namespace, "namespace", "n", "", verb+" the objects of this namespace")
	flags.BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, verb+" the objects of all namespaces")
	flags.StringVarP(&s.Labels, "selector", "l", "", verb+" only objects with these labels, such as app=web,tier!=db")
	flags.StringVar(&s.Fields, "field-selector", "", verb+" only objects with these fields, such as spec.nodeName=n1")
}

// Check reports flags that cannot be meant.
func (s *Selection) Check() error {
	if err := s.Connect.Check(); err != nil {
		return &UsageError{Err: err}
	}
	if s.Namespace != "" && s.AllNamespaces {
		return Usage("-n and -A cannot be used together")
	}
	if _, err := labels.Parse(s.Labels); err != nil {
		return Usage("-l %s: %w; want a selector such as app=shop,tier in (a,b)", s.Labels, err)
	}
	if _, err := fields.ParseSelector(s.Fields); err != nil {
		return Usage("--field-selector %s: %w; want a selector such as spec.nodeName=n1", s.Fields, err)
	}
	if s.Namespace != "" && len(validation.IsDNS1123Label(s.Namespace)) > 0 { // it becomes part of a path
		return Usage("-n %s: want the name of one namespace: lower-case letters, digits and dashes, 63 at most", s.Namespace)
	}
	return nil
}

// Client returns how to reach the server, and a client for it, which the caller closes. The
// client has its credential: Client waits for a program that supplies it.
// The client prints two things on stderr: problems of the connection that let no request
// fail, and the messages of a program that supplies the credential.
func (s *Selection) Client(ctx context.Context, stderr io.Writer, watches transport.WatchTransport) (transport.Config, *transport.Client, error) {
	type result struct {
		cfg    transport.Config
		client *transport.Client
		err    error
	}
	// A file may be a pipe without a writer. Nothing ends the wait for that, so its goroutine ends
	// with the process.
	done := make(chan result, 1)
	go func() {
		cfg, client, err := s.client(stderr, watches)
		done <- result{cfg, client, err}
	}()
	select {
	case r := <-done:
		if r.err == nil {
			if r.err = s.authenticate(ctx, stderr, r.client, r.cfg); r.err != nil {
				r.client.Close()
			}
		}
		return r.cfg, r.client, r.err
	case <-ctx.Done():
		return transport.Config{}, nil, fmt.Errorf("read the kubeconfig and the files of credentials: %w", context.Cause(ctx))
	}
}

func (s *Selection) client(stderr io.Writer, watches transport.WatchTransport) (transport.Config, *transport.Client, error) {
	cfg, err := s.Connect.Config()
	if err != nil {
		return cfg, nil, err
	}
	cfg.OnProblem = func(err error) { Complain(stderr, "%s: %s\n", s.Program, OneLine(err)) }
	if cfg.Exec != nil {
		cfg.Exec.Stderr = stderr
	}
	cfg.WatchTransport = watches
	client, err := transport.NewClient(cfg)
	if err != nil {
		return cfg, nil, connect.Explain(err, cfg.Server, StartTimeout)
	}
	return cfg, client, nil
}

// Find returns the resource that the server has under name, and the namespace to
// mirror, or "" for all namespaces.
func (s *Selection) Find(ctx context.Context, stderr io.Writer, client *transport.Client, cfg transport.Config, name string) (*discovery.Resource, string, error) {
	starting, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	found, err := discovery.Resolve(starting, client, name)
	if ctx.Err() != nil {
		return nil, "", err
	}
	if err != nil {
		return nil, "", connect.Explain(err, cfg.Server, StartTimeout)
	}
	for _, verb := range []string{"list", "watch"} {
		if !found.Can(verb) {
			return nil, "", fmt.Errorf("the server does not offer %s on %s, so it cannot be mirrored", verb, found.GroupResource())
		}
	}
	switch {
	case !found.Namespaced:
		if s.Namespace != "" {
			Complain(stderr, "%s belong to no namespace: -n %s is ignored\n", found.GroupResource(), s.Namespace)
		}
		return found, "", nil
	case s.AllNamespaces:
		return found, "", nil
	case s.Namespace != "":
		return found, s.Namespace, nil
	case cfg.Namespace != "":
		return found, cfg.Namespace, nil
	}
	return found, "default", nil
}

// authenticate waits for the credential, and says so if it takes long.
func (s *Selection) authenticate(ctx context.Context, stderr io.Writer, client *transport.Client, cfg transport.Config) error {
	if cfg.Exec == nil {
		return client.Authenticate(ctx)
	}
	name := filepath.Base(cfg.Exec.Command)
	defer time.AfterFunc(StartTimeout, func() {
		Complain(stderr, "%s: waiting for %s, which supplies the credential\n", s.Program, name)
	}).Stop()
	err := client.Authenticate(ctx)
	if ctx.Err() != nil {
		err = fmt.Errorf("wait for %s, which supplies the credential: %w", name, err)
	}
	return err
}
