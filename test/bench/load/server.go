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

// Options of a Server.
type Options struct {
	// Gzip compresses lists for those who accept it, as kube-apiserver does by default.
	Gzip bool
}

// A Server answers lists and watches.
type Server struct {
	opts   Options
	worlds map[string]*world // by resource
	sent   atomic.Uint64     // bytes, on all connections
	asked  atomic.Uint64     // requests
	listed atomic.Uint64     // objects in lists, without those that were asked for by name

	listedAt atomic.Int64 // when the last of these lists began, in nanoseconds since 1970
}

// New returns a server of these objects.
func New(opts Options, sets ...*objects.Set) *Server {
	s := &Server{opts: opts, worlds: map[string]*world{}}
	for _, set := range sets {
		s.worlds[set.Resource] = newWorld(set)
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	if action, ok := strings.CutPrefix(req.URL.Path, "/bench/"); ok {
		s.control(rw, req, action)
		return
	}
	s.asked.Add(1)
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
	format     objects.Format
	view       objects.View
	watch      bool
	initial    bool
	version    string
	limit      int
	from       int  // of a page
	named      bool // one object, by its name
}

func (s *Server) parse(req *http.Request) (query, error) {
	resource, ok := strings.CutPrefix(req.URL.Path, "/api/v1/")
	namespace := ""
	if rest, namespaced := strings.CutPrefix(resource, "namespaces/"); namespaced {
		namespace, resource, ok = strings.Cut(rest, "/")
	}
	name, number, numbered := objects.CutType(resource)
	w := s.worlds[name]
	if !ok || w == nil {
		return query{}, fmt.Errorf("there is nothing at %s", req.URL.Path)
	}
	form := req.URL.Query()
	q := query{world: w, end: w.set.Len, version: form.Get("resourceVersion")}
	if namespace != "" {
		n, err := strconv.Atoi(namespace[max(0, len(namespace)-4):])
		if err != nil || objects.Namespace(n) != namespace || resource != "configmaps" {
			return query{}, fmt.Errorf("there is no namespace %s with %s", namespace, resource)
		}
		numbered, number = true, n
	}
	if numbered {
		q.begin, q.end = min(number*objects.PerNamespace, q.end), min((number+1)*objects.PerNamespace, q.end)
	}
	if _, name, named := strings.Cut(form.Get("fieldSelector"), "metadata.name="); named {
		index, err := objects.IndexOf(name)
		if err != nil || index < q.begin || index >= q.end {
			return query{}, fmt.Errorf("there is no %s in %s", name, req.URL.Path)
		}
		q.begin, q.end, q.named = index, index+1, true
	}
	q.format, q.view = negotiate(req.Header.Get("Accept"))
	q.watch = isTrue(form.Get("watch"))
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

func isTrue(s string) bool { return s == "true" || s == "1" }

// negotiate takes the first media type of an Accept header that the server has.
func negotiate(accept string) (objects.Format, objects.View) {
	for mediaType := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(mediaType, ";")
		view := objects.Full
		if strings.Contains(params, "as=PartialObjectMetadata") {
			view = objects.Metadata
		}
		switch strings.TrimSpace(name) {
		case "application/json":
			return objects.JSON, view
		case "application/vnd.kubernetes.protobuf":
			return objects.Protobuf, view
		case "application/cbor", "application/cbor-seq":
			return objects.CBOR, view
		}
	}
	return objects.JSON, objects.Full
}

// mediaTypes are those of a list and of a watch.
var mediaTypes = map[objects.Format][2]string{
	objects.JSON:     {"application/json", "application/json"},
	objects.Protobuf: {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"},
	objects.CBOR:     {"application/cbor", "application/cbor-seq"},
}
