package apitest

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/server/watchcache"
)

// serve answers one request with what replica r shows.
func (s *Server) serve(r *Replica, w http.ResponseWriter, req *http.Request) {
	w, end := s.observe(w, req)
	defer end()
	if err := s.foreignOrigin(req); err != nil {
		writeError(w, err)
		return
	}
	if s.shareWith(w, req) {
		return
	}
	if strings.HasPrefix(req.URL.Path, faultsPath) {
		s.serveFaults(w, req)
		return
	}
	s.faults.connection(w, req)
	if strings.HasPrefix(req.URL.Path, "//") {
		noPage(w, req)
		return
	}
	w.Header().Set("Cache-Control", "no-cache, private")
	switch req.URL.Path {
	case "/healthz", "/livez", "/readyz":
		writeBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok"))
		return
	}
	if !s.authorized(req) {
		writeError(w, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	if s.failDiscovery(w, req) || s.serveMeta(w, req) {
		return
	}
	t, ok := s.route(req.URL.Path)
	if !ok {
		s.missing(w, req)
		return
	}
	v := verb(req, t)
	if !s.faults.awaitRelease(req, v) {
		panic(http.ErrAbortHandler) // the client is gone, or the server is closed
	}
	if x, ok := s.faults.take(req, v, t.namespace, t.table.res.ID()); ok {
		s.fail(w, req, t, v, x)
		return
	}
	if err := s.serveResource(r, w, req, t, v); err != nil {
		select {
		case <-s.done: // Close has taken the caches away
			if errors.Is(err, watchcache.ErrNotReady) {
				err = apierrors.NewServiceUnavailable("apiserver is shutting down")
			}
		default:
		}
		s.writeErrorFor(w, req, t.table, err)
	}
}

func (s *Server) authorized(req *http.Request) bool {
	want := "Bearer " + s.opts.Token
	if s.opts.Token == "" || subtle.ConstantTimeCompare([]byte(req.Header.Get("Authorization")), []byte(want)) == 1 {
		return true
	}
	token, ok := takeTokenProtocol(req)
	return ok && subtle.ConstantTimeCompare([]byte(token), []byte(s.opts.Token)) == 1
}

// serveResource answers a request for objects. v is the verb. If it returns an error, nothing was
// sent, and the caller sends the error.
func (s *Server) serveResource(r *Replica, w http.ResponseWriter, req *http.Request, t target, v string) error {
	f, err := s.negotiate(req, t.table, v)
	if err != nil {
		return err
	}
	switch v {
	case "list", "watch":
		sel, opts, err := newSelection(t, req.URL.Query())
		if err != nil {
			return err
		}
		if err := s.selectShard(&sel, opts); err != nil {
			return err
		}
		if v == "watch" {
			return r.watch(w, req, t.table, f, sel, opts)
		}
		p, err := r.list(req.Context(), t.table, sel, opts)
		if err != nil {
			return err
		}
		writeList(s.faults.cutList(w, req, t.table.res.ID()), req, f, p)
		return nil
	case "get":
		if t.subresource == "finalize" {
			return methodNotAllowed(t.table.res)
		}
		rev, err := r.get(req, t)
		if err != nil {
			return err
		}
		s.writeObject(w, f, http.StatusOK, t.table.shown(rev))
		return nil
	case "create", "update", "patch", "delete", "deletecollection":
		return s.serveWrite(w, req, t, v, f)
	}
	return methodNotAllowed(t.table.res)
}

func (s *Server) writeObject(w http.ResponseWriter, f format, code int, r *revision) {
	b := f.object(nil, r)
	if isText(f.contentType(false)) {
		b = append(b, '\n')
	}
	writeBytes(w, code, f.contentType(false), b)
}

// get reads one object. If the request has a resourceVersion, the object comes from the replica's
// cache, otherwise from the storage.
func (r *Replica) get(req *http.Request, t target) (*revision, error) {
	key := objectKey(t.namespace, t.name)
	asked := req.URL.Query().Get("resourceVersion")
	rv, err := watchcache.ParseVersion(asked)
	if err != nil {
		return nil, err // in kube-apiserver the storage returns this error, so it is a 500
	}
	cache, _ := r.cache(t.table)
	o, err := cache.Get(req.Context(), key, rv)
	if err != nil && !errors.Is(err, watchcache.ErrNotReady) {
		return nil, err
	}
	found, _ := o.(*revision)
	if asked == "" || err != nil {
		r.srv.storage.mu.RLock()
		defer r.srv.storage.mu.RUnlock()
		found = t.table.current(key)
	}
	if found == nil {
		return nil, notFound(t.table.res, t.name)
	}
	return found, nil
}

func notFound(res *Resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: res.Group, Resource: res.Plural}, name)
}
