package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relist-go/relist/cmd/relist/internal/connect"
	"github.com/relist-go/relist/discovery"
	"github.com/relist-go/relist/transport"
)

// selection holds the flags that choose a server and its objects.
type selection struct {
	connect       connect.Flags
	namespace     string
	allNamespaces bool
	labels        string
	fields        string
	pageSize      int
}

// oneResource checks that a command has one argument, the resource.
func oneResource(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("name one resource, such as pods or deployments.apps")
	}
	return nil
}

// add defines all flags except those of the connection. verb is what the command does
// with the objects.
func (s *selection) add(flags *pflag.FlagSet, verb string) {
	flags.StringVarP(&s.namespace, "namespace", "n", "", verb+" the objects of this namespace")
	flags.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, verb+" the objects of all namespaces")
	flags.StringVarP(&s.labels, "selector", "l", "", verb+" only objects with these labels, such as app=web,tier!=db")
	flags.StringVar(&s.fields, "field-selector", "", verb+" only objects with these fields, such as spec.nodeName=n1")
}

func (s *selection) check() error {
	if err := s.connect.Check(); err != nil {
		return &usageError{err}
	}
	if s.namespace != "" && s.allNamespaces {
		return usage("-n and -A cannot be used together")
	}
	return checkNamespace(s.namespace)
}

// client returns how to reach the server, and a client for it, which the caller closes.
// The client prints two things on stderr: problems of the connection that let no request
// fail, and the messages of a program that supplies the credential.
func (s *selection) client(stderr io.Writer, watches watchTransport) (transport.Config, *transport.Client, error) {
	cfg, err := s.connect.Config()
	if err != nil {
		return cfg, nil, err
	}
	cfg.OnProblem = func(err error) { complain(stderr, "relist: %s\n", oneLine(err)) }
	if cfg.Exec != nil {
		cfg.Exec.Stderr = stderr
	}
	cfg.WatchTransport = watches.watches()
	client, err := transport.NewClient(cfg)
	if err != nil {
		return cfg, nil, connect.Explain(err, cfg.Server, startTimeout)
	}
	return cfg, client, nil
}

// find returns the resource that the server has under name, and the namespace to
// mirror, or "" for all namespaces.
func (s *selection) find(ctx context.Context, stderr io.Writer, client *transport.Client, cfg transport.Config, name string) (*discovery.Resource, string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	found, err := discovery.Resolve(ctx, client, name)
	if err != nil {
		return nil, "", connect.Explain(err, cfg.Server, startTimeout)
	}
	for _, verb := range []string{"list", "watch"} {
		if !found.Can(verb) {
			return nil, "", fmt.Errorf("the server does not offer %s on %s, so it cannot be mirrored", verb, found.GroupResource())
		}
	}
	switch {
	case !found.Namespaced:
		if s.namespace != "" {
			complain(stderr, "%s belong to no namespace: -n %s is ignored\n", found.GroupResource(), s.namespace)
		}
		return found, "", nil
	case s.allNamespaces:
		return found, "", nil
	case s.namespace != "":
		return found, s.namespace, nil
	case cfg.Namespace != "":
		return found, cfg.Namespace, nil
	}
	return found, "default", nil
}
