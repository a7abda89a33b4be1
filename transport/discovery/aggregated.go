package discovery

import "k8s.io/apimachinery/pkg/runtime/schema"

// aggregatedGroup is the part of an APIGroupDiscovery (apidiscovery.k8s.io/v2) that is used.
// Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery.
type aggregatedGroup struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Versions []aggregatedVersion `json:"versions"` // the preferred one first
}

type aggregatedVersion struct {
	Version   string               `json:"version"`
	Freshness string               `json:"freshness"`
	Resources []aggregatedResource `json:"resources"`
}

type aggregatedResource struct {
	Resource     string   `json:"resource"`
	Scope        string   `json:"scope"`
	Singular     string   `json:"singularResource"`
	ShortNames   []string `json:"shortNames"`
	Verbs        []string `json:"verbs"`
	ResponseKind struct {
		Kind string `json:"kind"`
	} `json:"responseKind"`
}

// addAggregated adds a group. One whose server is down comes as Stale, with what was
// known of it before, or nothing.
func (c *catalog) addAggregated(group aggregatedGroup) {
	for _, v := range group.Versions {
		gv := schema.GroupVersion{Group: group.Metadata.Name, Version: v.Version}
		if v.Freshness == "Stale" && len(v.Resources) == 0 {
			c.missing = append(c.missing, gv.String())
		}
		for _, r := range v.Resources {
			if r.Resource == "" {
				continue // there is no path to it
			}
			c.resources = append(c.resources, Resource{
				GroupVersionResource: gv.WithResource(r.Resource),
				Kind:                 r.ResponseKind.Kind,
				Singular:             r.Singular,
				ShortNames:           r.ShortNames,
				Namespaced:           r.Scope == "Namespaced",
				Verbs:                r.Verbs,
			})
		}
	}
}
