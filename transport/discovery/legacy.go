package discovery

import (
	"context"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/transport"
)

// preferredFirst returns the versions of a group in the order of lookup.
func preferredFirst(group metav1.APIGroup) []schema.GroupVersion {
	var versions []schema.GroupVersion
	for _, v := range group.Versions {
		gv := schema.GroupVersion{Group: group.Name, Version: v.Version}
		if v.Version == group.PreferredVersion.Version {
			versions = slices.Insert(versions, 0, gv)
		} else {
			versions = append(versions, gv)
		}
	}
	return versions
}

// parallel is how many versions are asked for at a time.
const parallel = 8

// addVersions asks for each version by itself, because the server has no aggregated
// discovery. It leaves out a version that does not answer, and remembers it. If no
// version answers, addVersions returns the first error.
func (c *catalog) addVersions(ctx context.Context, client *transport.Client, versions []schema.GroupVersion, q query) error {
	versions = slices.DeleteFunc(versions, func(gv schema.GroupVersion) bool { return !q.concerns(gv) })
	lists := make([]metav1.APIResourceList, len(versions))
	errs := make([]error, len(versions))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, gv := range versions {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = get(ctx, client, groupPath(gv), "", &lists[i])
		})
	}
	wg.Wait()
	failed := 0
	for i, gv := range versions {
		if errs[i] != nil {
			failed++
			c.missing = append(c.missing, gv.String())
			continue
		}
		c.addLegacy(gv, lists[i].APIResources)
	}
	if failed > 0 && failed == len(versions) {
		return errs[0]
	}
	return nil
}

// concerns reports whether a version can hold what was asked for.
func (q query) concerns(gv schema.GroupVersion) bool {
	return len(q.readings) == 0 || slices.ContainsFunc(q.readings, func(r schema.GroupVersion) bool { return r.Group == gv.Group })
}

func groupPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return transport.EscapePath("api", gv.Version)
	}
	return transport.EscapePath("apis", gv.Group, gv.Version)
}

func (c *catalog) addLegacy(gv schema.GroupVersion, resources []metav1.APIResource) {
	for _, r := range resources {
		if r.Name == "" || strings.Contains(r.Name, "/") {
			continue // a subresource, or no resource at all
		}
		singular := r.SingularName
		if singular == "" {
			singular = strings.ToLower(r.Kind)
		}
		c.resources = append(c.resources, Resource{
			GroupVersionResource: gv.WithResource(r.Name),
			Kind:                 r.Kind,
			Singular:             singular,
			ShortNames:           r.ShortNames,
			Namespaced:           r.Namespaced,
			Verbs:                r.Verbs,
		})
	}
}
