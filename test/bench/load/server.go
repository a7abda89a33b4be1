package load

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/test/bench/objects"
)

// A Server answers lists and watches.
type Server struct {
	world *world
	gzip  bool
	sent  atomic.Uint64 // bytes, on all connections

	watches atomic.Int64 // that are open
}

// New returns a server of these Pods. With gzip, it compresses lists for those who accept it, as
// kube-apiserver does by default.
func New(set *objects.Set, gzip bool) *Server { return &Server{world: newWorld(set), gzip: gzip} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	if action, ok := strings.CutPrefix(req.URL.Path, "/bench/"); ok {
		s.control(rw, req, action)
		return
	}
	q, err := s.parse(req)
	switch {
	case err != nil:
		writeStatus(rw, http.StatusNotFound, metav1.StatusReasonNotFound, err.Error())
	case q.watch:
		s.serveWatch(rw, req, q)
	default:
		s.serveList(rw, req, q)
	}
}

// A query is a list or a watch.
type query struct {
	world      *world
	begin, end int // the objects that are wanted
	node       int // whose objects alone are wanted, or objects.Nodes for all
	format     objects.Format
	watch      bool
	initial    bool
	version    string
	until      uint64 // a version that ends a watch; none if 0
	limit      int
	from       int // of a page
}

func (s *Server) parse(req *http.Request) (query, error) {
	resource, ok := strings.CutPrefix(req.URL.Path, "/api/v1/")
	rest, namespaced := strings.CutPrefix(resource, "namespaces/")
	if namespaced {
		_, resource, ok = strings.Cut(rest, "/")
	}
	if !ok || resource != "pods" {
		return query{}, fmt.Errorf("there is nothing at %s", req.URL.Path)
	}
	form := req.URL.Query()
	q := query{world: s.world, end: s.world.set.Len, node: objects.Nodes, version: form.Get("resourceVersion")}
	if namespaced {
		q.end = 0
	}
	if _, name, named := strings.Cut(form.Get("fieldSelector"), "metadata.name="); named {
		index, err := objects.IndexOf(name)
		if err != nil || index >= q.end {
			return query{}, fmt.Errorf("there is no %s in %s", name, req.URL.Path)
		}
		q.begin, q.end = index, index+1
	}
	if _, node, named := strings.Cut(form.Get("fieldSelector"), "spec.nodeName=node-"); named {
		var err error
		if q.node, err = strconv.Atoi(node); err != nil || q.node < 0 || q.node >= objects.Nodes {
			return query{}, fmt.Errorf("there is no node %s", node)
		}
	}
	q.format = negotiate(req.Header.Get("Accept"))
	q.watch = isTrue(form.Get("watch"))
	q.until, _ = strconv.ParseUint(form.Get("until"), 10, 64) // 0 is none
	q.initial = isTrue(form.Get("sendInitialEvents"))
	q.limit, _ = strconv.Atoi(form.Get("limit")) // 0 is no limit
	if q.version == "0" {
		q.limit = 0
	}
	q.from = q.begin
	if token := form.Get("continue"); token != "" {
		from, err := strconv.Atoi(token)
		if err != nil || from < q.begin || from > q.end {
			return query{}, fmt.Errorf("not a token of this list: %s", token)
		}
		q.from = from
	}
	return q, nil
}

func (q query) wants(v objects.Values) bool {
	return v.Index >= q.begin && v.Index < q.end && (q.node == objects.Nodes || q.node == v.Index%objects.Nodes)
}

func isTrue(s string) bool { return s == "true" || s == "1" }

// negotiate takes the first media type of an Accept header that the server has.
func negotiate(accept string) objects.Format {
	for mediaType := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(mediaType, ";")
		switch strings.TrimSpace(name) {
		case "application/json":
			return objects.JSON
		case "application/vnd.kubernetes.protobuf":
			return objects.Protobuf
		}
	}
	return objects.JSON
}

var mediaTypes = map[objects.Format][2]string{
	objects.JSON:     {"application/json", "application/json"},
	objects.Protobuf: {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"},
}
