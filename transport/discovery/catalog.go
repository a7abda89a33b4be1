package discovery

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// catalog is what a server serves, in the order in which a name is looked up: the
// core group first, then the groups as the server lists them, each with its
// preferred version first.
type catalog struct {
	resources []Resource

	// missing are the groups that could not be read: of an aggregated API server
	// that is down, as a rule.
	missing []string
}

// query is a name as it was typed. It has more than one reading: what follows the
// first dot may be a group, or a version and a group.
type query struct {
	resource string
	readings []schema.GroupVersion // none: any group
}

func parseQuery(name string) (query, error) {
	switch {
	case strings.Contains(name, ","):
		return query{}, nameError(name, "name one resource at a time")
	case strings.Contains(name, "/"):
		return query{}, nameError(name, "name a resource only, and choose one object by the field selector metadata.name=NAME")
	}
	resource, rest, dotted := strings.Cut(strings.ToLower(name), ".")
	if resource == "" || dotted && rest == "" {
		return query{}, nameError(name, "write pods, deployments.apps or deployments.v1.apps")
	}
	q := query{resource: resource}
	if !dotted {
		return q, nil
	}
	// kubectl reads deployments.v1.apps as a version first. "pods.v1." is the core group.
	if version, group, ok := strings.Cut(rest, "."); ok {
		q.readings = append(q.readings, schema.GroupVersion{Group: group, Version: version})
	} else {
		q.readings = append(q.readings, schema.GroupVersion{Version: rest})
	}
	q.readings = append(q.readings, schema.GroupVersion{Group: rest})
	return q, nil
}

// find returns the first resource that the query means, or nil. A name in full wins
// over a short name of another resource.
func (c *catalog) find(q query) *Resource {
	for _, names := range []func(*Resource) bool{
		func(r *Resource) bool {
			return r.Resource == q.resource || r.Singular == q.resource || strings.EqualFold(r.Kind, q.resource)
		},
		func(r *Resource) bool { return slices.Contains(r.ShortNames, q.resource) },
	} {
		if r := c.first(q, names); r != nil {
			return r
		}
	}
	return nil
}

func (c *catalog) first(q query, named func(*Resource) bool) *Resource {
	if len(q.readings) == 0 {
		return c.index(named)
	}
	for _, gv := range q.readings {
		r := c.index(func(r *Resource) bool {
			return r.Group == gv.Group && (gv.Version == "" || r.Version == gv.Version) && named(r)
		})
		if r != nil {
			return r
		}
	}
	return nil
}

func (c *catalog) index(match func(*Resource) bool) *Resource {
	for i := range c.resources {
		if match(&c.resources[i]) {
			return &c.resources[i]
		}
	}
	return nil
}
