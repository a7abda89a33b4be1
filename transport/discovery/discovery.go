// Package discovery finds out what an API server serves, and which resource a person means by
// "deploy", "pods" or "deployments.v1.apps": it looks the words up as kubectl does. It is for
// programs whose users name resources. A program that names its resources itself does not need it.
//
//	deployments, err := discovery.Resolve(ctx, client, "deploy")
//	cache, err := listwatch.New(client, deployments.GroupVersionResource, listwatch.Options[*unstructured.Unstructured]{})
//
// Begin with [Resolve] and [List]. They ask the server each time, and keep nothing.
package discovery

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// Resource is one type that a server serves, in one version.
type Resource struct {
	schema.GroupVersionResource

	// Kind is the kind of the objects, such as Deployment.
	Kind string

	// Singular and ShortNames are the other names of the resource: deployment, deploy.
	Singular   string
	ShortNames []string

	// Namespaced says that each object is in a namespace.
	Namespaced bool

	// Verbs are the verbs that the server offers, such as list, watch and patch, even if this
	// client is not allowed to use them.
	Verbs []string
}

// Type returns what package writer and controller.Owns take: the names of the type, and whether it
// has namespaces.
func (r *Resource) Type() object.Type {
	return object.Type{Group: r.Group, Version: r.Version, Resource: r.Resource, Kind: r.Kind, ClusterScoped: !r.Namespaced}
}

// Can reports whether the server offers a verb on the resource, such as "watch".
func (r *Resource) Can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Resolve asks the server what it serves, and returns the resource that name means: a plural, a
// singular or a short name, or a kind, alone or with a group ("deployments.apps") or a version and
// a group ("deployments.v1.apps"). Case does not matter. A full name goes before a short name of
// another resource, the core group goes before the other groups, and within a group the version
// that the server prefers goes before its other versions.
//
// If no resource has the name, the error is a [NotFoundError], which has the names that look like
// it. If no resource can have such a name, the error says what to write instead. Resolve asks for
// the core group first, and for the other groups if it needs them: one or two requests. The server
// must have aggregated discovery (Kubernetes 1.27 or later).
func Resolve(ctx context.Context, client *transport.Client, name string) (*Resource, error) {
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
		return nil, &NotFoundError{Name: name, Near: cat.near(q), Missing: cat.missing}
	}
	return r, nil
}

// List returns all resources that the server serves, each in every version, in the order in which
// Resolve looks a name up: the core group first, then the groups as the server lists them, each
// with its preferred version first. Subresources are left out.
//
// A group may not answer, because the server behind it is down. Then List returns the others, and
// an error that is a [MissingError]. Any other error comes without resources.
func List(ctx context.Context, client *transport.Client) ([]Resource, error) {
	cat, err := fetchAll(ctx, client)
	switch {
	case err != nil:
		return nil, err
	case len(cat.missing) > 0:
		return cat.resources, &MissingError{Groups: cat.missing}
	}
	return cat.resources, nil
}
