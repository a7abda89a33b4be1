package apitest

import (
	"net/http"
	"strings"
)

// A target is what an API path names.
type target struct {
	table       *table
	namespace   string
	name        string // "" for the collection
	subresource string
}

// route reads an API path. kube-apiserver's legacy /watch/ paths are not served.
func (s *Server) route(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group, version string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return target{}, false
	}
	var t target
	// namespaces/NAME/TYPE is inside a namespace; namespaces/NAME, and /status and /finalize of it, are the namespace.
	if len(parts) >= 3 && parts[0] == "namespaces" && (group != "" || parts[2] != "status" && parts[2] != "finalize") {
		t.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 3 {
		return target{}, false
	}
	id := parts[0]
	if group != "" {
		id += "." + group
	}
	t.table = s.storage.tables[id]
	if t.table == nil || t.table.res.Version != version {
		return target{}, false
	}
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
		if t.subresource != "status" && t.subresource != "finalize" {
			return target{}, false
		}
	}
	// An object is found in its namespace only; a cluster-scoped one has none.
	if t.table.res.ClusterScoped != (t.namespace == "") && (t.name != "" || t.namespace != "") {
		return target{}, false
	}
	return t, true
}

// isWatch reports whether the query asks for a watch.
func isWatch(req *http.Request) bool {
	q := req.URL.Query()
	return q.Has("watch") && q.Get("watch") != "0" && !strings.EqualFold(q.Get("watch"), "false")
}

// verb names what a request does, in the words of kube-apiserver's authorization.
func verb(req *http.Request, t target) string {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case t.name != "":
			return "get" // kube-apiserver looks for watch in the query of collections only
		case isWatch(req):
			return "watch"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if t.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}
