package cli

import (
	"context"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// completionTimeout is how long a user who has pressed Tab waits.
const completionTimeout = 2 * time.Second

// Complete lets the shell ask the cluster for resources and namespaces, and the kubeconfig for
// contexts. several says that a command takes several resources. If the cluster does not answer,
// nothing is completed and no error is printed, because it would stand in the command line.
func (s *Selection) Complete(cmd *cobra.Command, several bool) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if !several && len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		before := ""
		if i := strings.LastIndexByte(typed, ','); several && i >= 0 {
			before, typed = typed[:i+1], typed[i+1:]
		}
		names := beginWith(typed, s.ask(cmd.Context(), resourceNamesOf))
		for i := range names {
			names[i] = before + names[i]
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	if cmd.Flags().Lookup("namespace") != nil { // relist relay has none
		completeBy(cmd, "namespace", func(ctx context.Context) []string { return s.ask(ctx, namespacesOf) })
	}
	completeBy(cmd, "context", func(context.Context) []string { return s.Connect.Contexts() })
}

// completeBy lets the shell complete a flag's value by what a function returns.
func completeBy(cmd *cobra.Command, flag string, words func(context.Context) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginWith(typed, words(cmd.Context())), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		// unreachable: the flag was defined.
		panic("cli: " + err.Error())
	}
}

func beginWith(typed string, words []string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// ask asks the server that the flags name, and returns nil if it does not answer in time.
func (s *Selection) ask(ctx context.Context, question func(context.Context, *transport.Client) []string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	if s.Connect.Check() != nil {
		return nil
	}
	cfg, err := s.Connect.Config()
	if err != nil {
		return nil
	}
	if cfg.Exec != nil {
		cfg.Exec.Stderr = io.Discard
		cfg.Exec.InteractiveMode = transport.InteractiveNever // nobody sees what it would ask
	}
	client, err := transport.NewClient(cfg)
	if err != nil {
		return nil
	}
	defer client.Close()
	return question(ctx, client)
}

// resourceNamesOf returns the names of the resources that can be mirrored, with their groups:
// "pods", "deployments.apps".
func resourceNamesOf(ctx context.Context, client *transport.Client) []string {
	all, _ := discovery.List(ctx, client) // if a group does not answer, the others are worth having
	var names []string
	for _, r := range all {
		if r.Can("list") && r.Can("watch") {
			names = append(names, r.GroupResource().String())
		}
	}
	slices.Sort(names)
	return onlyNames(slices.Compact(names))
}

// namespacesOf returns the names of the namespaces. In a large cluster it returns only some.
func namespacesOf(ctx context.Context, client *transport.Client) []string {
	resp, err := client.Get(ctx, transport.Request{
		Path:   transport.EscapePath("api", "v1", "namespaces"),
		Query:  url.Values{"limit": {"500"}, "resourceVersion": {"0"}},
		Accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
	})
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }() // nobody would be told
	var list metav1.PartialObjectMetadataList
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, 64<<20), &list); err != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return onlyNames(names)
}

// onlyNames leaves out what a shell may take for something else than a name.
func onlyNames(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return len(validation.IsDNS1123Subdomain(name)) > 0 })
}

// CompleteWords lets the shell complete a flag's value. A word that ends with = goes on.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		fitting := beginWith(typed, slices.Clone(words))
		if len(fitting) == 1 && strings.HasSuffix(fitting[0], "=") {
			return fitting, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		// unreachable: the flag was defined before.
		panic("cli: " + err.Error())
	}
}
