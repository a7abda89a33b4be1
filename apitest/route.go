package apitest

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A target is the type, object or subresource that an API path names.
type target struct {
	table       *table
	namespace   string
	name        string // "" for the collection
	subresource string
	by          author // of a write
}

func (r *Resource) has(subresource string) bool {
	switch subresource {
	case "status":
		return r.Status
	case "finalize":
		return r.ID() == "namespaces"
	}
	return false
}

// missing answers a path that names nothing. If the path begins with a group of the server, the
// answer is in JSON, as that of kube-apiserver is.
func (s *Server) missing(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if t, ok := s.route(strings.Join(parts[:max(len(parts)-1, 1)], "/")); ok && t.table.res.Custom && t.name != "" && t.subresource == "" {
		writeError(w, notFound(t.table.res, t.name)) // the custom type does not have the subresource
		return
	}
	known := parts[0] == "api" && len(parts) > 1
	for _, t := range s.storage.tables { // the order does not matter: one table of the group is enough
		known = known || parts[0] == "apis" && len(parts) > 2 && t.res.Group == parts[1] && !t.res.Custom
	}
	if !known {
		noPage(w, req)
		return
	}
	err := statusError(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	writeError(w, err)
}

// noPage answers a path that does not belong to the API.
func noPage(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.NotFound(w, req)
}

// write returns the description of a change of the target.
func (t target) write(patch bool) write {
	return write{namespace: t.namespace, name: t.name, subresource: t.subresource, patch: patch, by: t.by}
}

// route reads an API path. It does not know the old /watch/ paths of kube-apiserver.
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
	// namespaces/NAME/TYPE is a type inside a namespace. namespaces/NAME is the Namespace itself,
	// and namespaces/NAME/status and namespaces/NAME/finalize are its subresources.
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
		if !t.table.res.has(t.subresource) {
			return target{}, false
		}
	}
	// The path of a namespaced object has a namespace, and the path of a cluster-scoped object has
	// none.
	if t.table.res.ClusterScoped != (t.namespace == "") && (t.name != "" || t.namespace != "") {
		return target{}, false
	}
	return t, true
}

func isWatch(req *http.Request) bool {
	q := req.URL.Query()
	return q.Has("watch") && q.Get("watch") != "0" && !strings.EqualFold(q.Get("watch"), "false")
}

// verb returns the verb of a request, as kube-apiserver's authorization names it.
func verb(req *http.Request, t target) string {
	switch req.Method {
	case http.MethodGet:
		switch {
		case t.name != "":
			return "get" // kube-apiserver ignores "watch" in the query of a single object
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
