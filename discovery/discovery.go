// Package discovery finds out which resource a person means by "deploy",
// "pods" or "deployments.v1.apps": it asks the API server what it serves, and
// looks the words up as kubectl does.
//
// Begin with Find.
package discovery

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/transport"
)

// Resource is one type that a server serves.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Singular   string
	ShortNames []string
	Namespaced bool
	Verbs      []string
}

// Can reports whether the server offers a verb on the resource, such as "watch".
func (r *Resource) Can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Find asks the server what it serves, and returns the resource that name means:
// a plural, singular or short name, alone or with a group ("deployments.apps") or a
// version and a group ("deployments.v1.apps").
//
// A name that no resource has is a [NotFoundError]. One that cannot be listed and
// watched is an error too.
func Find(ctx context.Context, client *transport.Client, name string) (*Resource, error) {
	q, err := parseQuery(name)
	if err != nil {
		return nil, err
	}
	cat, err := fetch(ctx, client, q)
	if err != nil {
		return nil, err
	}
	r := cat.find(q)
	if r == nil {
		missing := &NotFoundError{Name: name, Near: cat.near(q), Missing: cat.missing}
		if len(missing.Near) == 0 {
			missing.Known = cat.known()
		}
		return nil, missing
	}
	for _, verb := range []string{"list", "watch"} {
		if !r.Can(verb) {
			return nil, fmt.Errorf("the server does not offer %s on %s, so it cannot be mirrored", verb, r.GroupResource())
		}
	}
	return r, nil
}
