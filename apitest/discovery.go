package apitest

import (
	"cmp"
	"crypto/sha512"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// serveMeta answers requests about the server itself: discovery, the version and OpenAPI. It
// returns false for other requests.
func (s *Server) serveMeta(w http.ResponseWriter, req *http.Request) bool {
	path := strings.TrimSuffix(req.URL.Path, "/")
	if req.Method != http.MethodGet && (path == "/api" || path == "/apis" || len(s.resourcesAt(path)) > 0) {
		writeError(w, methodNotAllowed(&Resource{}))
		return true
	}
	switch path {
	case "/version":
		writeJSON(w, http.StatusOK, version.Info{
			Major: "1", Minor: "36", GitVersion: "v1.36.0", GitTreeState: "clean", GoVersion: "go1.26", Compiler: "gc", Platform: "linux/amd64",
		})
		return true
	case "/api", "/apis":
		if media := aggregated(req); media != "" {
			writeAggregated(w, media, s.groupDiscovery(req, path == "/api"))
		} else if path == "/api" {
			writeMeta(w, req, legacyVersions(req))
		} else {
			writeMeta(w, req, s.groupList())
		}
		return true
	case "/openapi/v2":
		serveOpenAPIv2(w, req)
		return true
	case "/openapi/v3":
		writeJSON(w, http.StatusOK, s.openAPIIndex())
		return true
	}
	if root, ok := strings.CutPrefix(path, "/openapi/v3"); ok {
		return s.serveOpenAPIv3(w, root)
	}
	if group, ok := strings.CutPrefix(path, "/apis/"); ok && !strings.Contains(group, "/") {
		for _, g := range s.groupList().Groups {
			if g.Name == group {
				g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				writeMeta(w, req, g)
				return true
			}
		}
	}
	if in := s.resourcesAt(path); len(in) > 0 {
		writeMeta(w, req, resourceList(in))
		return true
	}
	return false
}

// writeMeta answers a request for a description of the server, such as its groups.
func writeMeta(w http.ResponseWriter, req *http.Request, v any) {
	readable := req.Header.Get("Accept") == ""
	for _, a := range accepts(req) {
		readable = readable || slices.Contains([]string{"application/json", "*/*", protobufMediaType}, a.media)
	}
	if !readable {
		writeError(w, notAcceptable())
		return
	}
	writeJSON(w, http.StatusOK, v)
}

// resourcesAt returns the types below a path such as /api/v1, by name.
func (s *Server) resourcesAt(root string) []*Resource {
	var in []*Resource
	for _, t := range s.storage.tables { // sorted below
		if t.res.root() == root {
			in = append(in, t.res)
		}
	}
	slices.SortFunc(in, func(a, b *Resource) int { return cmp.Compare(a.Plural, b.Plural) })
	return in
}

// roots returns the paths of all groups and versions, the core group first, and a resource of each.
func (s *Server) roots() []*Resource {
	byRoot := make(map[string]*Resource)
	for _, t := range s.storage.tables { // one of each root: its group and version are all that is used
		byRoot[t.res.root()] = t.res
	}
	return slices.SortedFunc(maps.Values(byRoot), func(a, b *Resource) int { return cmp.Compare(a.root(), b.root()) })
}

func legacyVersions(req *http.Request) metav1.APIVersions {
	return metav1.APIVersions{
		TypeMeta:                   metav1.TypeMeta{Kind: "APIVersions"},
		Versions:                   []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: req.Host}},
	}
}

func (s *Server) groupList() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, r := range s.roots() {
		if r.Group == "" {
			continue
		}
		gv := metav1.GroupVersionForDiscovery{GroupVersion: r.apiVersion(), Version: r.Version}
		if n := len(list.Groups); n > 0 && list.Groups[n-1].Name == r.Group {
			list.Groups[n-1].Versions = append(list.Groups[n-1].Versions, gv)
			continue
		}
		list.Groups = append(list.Groups, metav1.APIGroup{
			Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv,
		})
	}
	return list
}

func resourceList(in []*Resource) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: in[0].apiVersion()}
	if in[0].Group != "" {
		list.APIVersion = "v1"
	}
	for _, r := range in {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Plural, SingularName: r.Singular, Namespaced: !r.ClusterScoped, Kind: r.Kind,
			Verbs: r.verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
		})
		if r.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Plural + "/status", Namespaced: !r.ClusterScoped, Kind: r.Kind, Verbs: statusVerbs,
			})
		}
	}
	return list
}

var statusVerbs = metav1.Verbs{"get", "patch", "update"}

// The aggregated form of discovery: everything below /api or /apis in one answer,
// apidiscovery.k8s.io/v2. Its Go types are in k8s.io/api, which this module does not import.
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

// groupDiscovery describes the core group, or all others. A version whose discovery has to fail is
// Stale and has no types, as one whose server is down:
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
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
		if _, fails := s.faults.take(req, verbDiscover, "", types...); fails {
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
