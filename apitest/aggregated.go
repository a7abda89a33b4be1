package apitest

import (
	"crypto/sha512"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The aggregated form of discovery: everything below /api or /apis in one answer, apidiscovery.k8s.io/v2.
// Its Go types are in k8s.io/api, which this module does not import.
type (
	groupDiscoveryList struct {
		metav1.TypeMeta
		Metadata struct{}         `json:"metadata"`
		Items    []groupDiscovery `json:"items"`
	}
	groupDiscovery struct {
		Metadata struct {
			Name string `json:"name,omitempty"`
		} `json:"metadata"`
		Versions []versionDiscovery `json:"versions"`
	}
	versionDiscovery struct {
		Version   string              `json:"version"`
		Resources []resourceDiscovery `json:"resources"`
		Freshness string              `json:"freshness"`
	}
	resourceDiscovery struct {
		Resource         string                 `json:"resource"`
		ResponseKind     responseKind           `json:"responseKind"`
		Scope            string                 `json:"scope"`
		SingularResource string                 `json:"singularResource"`
		Verbs            []string               `json:"verbs"`
		ShortNames       []string               `json:"shortNames,omitempty"`
		Categories       []string               `json:"categories,omitempty"`
		Subresources     []subresourceDiscovery `json:"subresources,omitempty"`
	}
	responseKind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	}
	subresourceDiscovery struct {
		Subresource  string       `json:"subresource"`
		ResponseKind responseKind `json:"responseKind"`
		Verbs        []string     `json:"verbs"`
	}
)

// aggregated returns the media type of the aggregated form if the request accepts it, or "".
func aggregated(req *http.Request) string {
	for _, a := range accepts(req) {
		if a.media == "application/json" && a.params["as"] == "APIGroupDiscoveryList" && a.params["v"] == "v2" {
			return "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		}
	}
	return ""
}

// groupDiscovery describes the core group, or all others. A version whose discovery has to fail is Stale and has no types, as one
// whose server is down: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
func (s *Server) groupDiscovery(req *http.Request, core bool) groupDiscoveryList {
	list := groupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items:    []groupDiscovery{},
	}
	for _, root := range s.roots() {
		if (root.Group == "") != core {
			continue
		}
		if n := len(list.Items); n == 0 || list.Items[n-1].Metadata.Name != root.Group {
			var g groupDiscovery
			g.Metadata.Name = root.Group
			list.Items = append(list.Items, g)
		}
		v := versionDiscovery{Version: root.Version, Freshness: "Current", Resources: []resourceDiscovery{}}
		var types []string
		for _, r := range s.resourcesAt(root.root()) {
			v.Resources = append(v.Resources, discover(r))
			types = append(types, r.ID())
		}
		if _, fails := s.faults.take(req, verbDiscover, types...); fails {
			v.Resources, v.Freshness = []resourceDiscovery{}, "Stale"
		}
		g := &list.Items[len(list.Items)-1]
		g.Versions = append(g.Versions, v)
	}
	return list
}

func discover(r *Resource) resourceDiscovery {
	d := resourceDiscovery{
		Resource: r.Plural, ResponseKind: responseKind{Kind: r.Kind}, Scope: "Namespaced", SingularResource: r.Singular,
		Verbs: r.verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.ClusterScoped {
		d.Scope = "Cluster"
	}
	if r.Custom {
		d.ResponseKind = responseKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
	}
	if r.Status {
		d.Subresources = []subresourceDiscovery{{Subresource: "status", ResponseKind: d.ResponseKind, Verbs: statusVerbs}}
	}
	return d
}

func writeAggregated(w http.ResponseWriter, media string, list groupDiscoveryList) {
	b := mustJSON(list)
	w.Header().Set("Cache-Control", "public")
	w.Header().Set("Etag", fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(b))))
	w.Header().Set("Vary", "Accept")
	writeBytes(w, http.StatusOK, media, append(b, '\n'))
}
