package apitest

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/relist-go/relist/server/watchcache"
)

// Options configures a Server. The zero value is ready to use.
type Options struct {
	// Resources are the types that the server has. If nil, DefaultResources.
	Resources []Resource

	// Window is the number of changes that the server remembers for each type. A watch from a
	// version before them gets a 410. If a slow watch falls further behind, the server closes it.
	// If zero, 1000 is used. If negative, 1 is used, so that nearly every watch that resumes gets a
	// 410.
	Window int

	// BookmarkPeriod is the time between two bookmarks of a watch without events, if the client has
	// asked for bookmarks. One more bookmark comes two seconds before the watch's timeout. If zero,
	// one minute is used, as in kube-apiserver. If negative, the server sends only the bookmark
	// that ends initial events.
	BookmarkPeriod time.Duration

	// FreshnessTimeout is how long a request waits if its resourceVersion is newer than what the
	// replica has. If zero, three seconds are used, as in kube-apiserver. If negative, there is no
	// wait.
	FreshnessTimeout time.Duration

	// NoProgress keeps the watch cache of an idle type at the version of its last change, or,
	// before the first change, at the version of the list that filled it, as if etcd sent no
	// progress notifications. So two replicas that were filled at different times differ for good.
	// See docs/incidents/3-too-large.md.
	NoProgress bool

	// WatchTimeout is how long a watch lasts if the client names no time. If zero, 45 minutes, the
	// middle of what kube-apiserver chooses from. If negative, for ever.
	WatchTimeout time.Duration

	// ResourceVersion is the version before the first write. If zero, 1 is used, because a server
	// has no version 0.
	ResourceVersion uint64

	// Sharding makes the server obey shardSelector in lists and watches, as kube-apiserver does if
	// its feature gate ShardedListAndWatch is on. Both are off by default. If it is off, the
	// parameter is ignored, whatever is in it. https://kep.k8s.io/5866
	Sharding bool

	// Token, if set, is the bearer token that every API request must have. A request without it
	// gets a 401.
	Token string

	// Log, if set, is called when the server sends the head of a watch's answer, and at the end of
	// each request. Several calls may run at once. A request waits until its call of Log has
	// returned.
	Log func(LoggedRequest)

	// AllowedHosts are host names that requests to a Listener may use, such as "api.test".
	// Addresses and localhost are always allowed. A request for another host gets a 403, because
	// any web page can have a name that leads to loopback.
	AllowedHosts []string

	// AllowedOrigins are the origins of web pages that may use this server, such as
	// "https://console.test". The server's own address is always allowed. A request of another page
	// gets a 403. Programs that are not browsers send no Origin, or the server's address.
	AllowedOrigins []string
}

func (o Options) withDefaults() Options {
	if o.Resources == nil {
		o.Resources = DefaultResources()
	}
	o.Window = or(o.Window, 1000, 1)
	o.WatchTimeout = or(o.WatchTimeout, 45*time.Minute, 0)
	o.BookmarkPeriod = or(o.BookmarkPeriod, time.Minute, 0)
	o.FreshnessTimeout = or(o.FreshnessTimeout, 3*time.Second, -1)
	o.ResourceVersion = or(o.ResourceVersion, 1, 1)
	return o
}

// or applies the rule of Options: zero is the default, negative is off.
func or[T int | uint64 | time.Duration](v, zero, negative T) T {
	switch {
	case v == 0:
		return zero
	case v < 0:
		return negative
	}
	return v
}

// Server is an API server for tests. All methods are safe for concurrent use.
type Server struct {
	opts    Options
	storage *storage
	faults  faults
	done    chan struct{} // closed by Close

	mu        sync.Mutex
	closed    bool
	routed    *Replica
	listeners map[*Listener]struct{}
	authority *authority // of the listeners with TLS; nil before the first
}

// New returns a server without objects. Close ends its watches and its listeners.
//
// New starts no goroutine. For a test with testing/synctest, call New inside the bubble.
func New(opts Options) *Server {
	opts = opts.withDefaults()
	s := &Server{
		opts:      opts,
		storage:   newStorage(opts.Resources, opts.ResourceVersion),
		done:      make(chan struct{}),
		listeners: make(map[*Listener]struct{}),
	}
	s.faults.init(s.done, opts.BookmarkPeriod)
	s.routed = s.Replica("")
	return s
}

// Replica returns the replica of that name. If the name is new, Replica makes the replica. The
// watch cache of a new replica begins now, so a watch from an older version gets a 410. "" is the
// name of the replica that the server has from the start.
func (s *Server) Replica(name string) *Replica {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	for _, r := range s.storage.replicas {
		if r.name == name {
			return r
		}
	}
	return s.newReplica(name)
}

// Route makes r answer the requests that come to the server itself from now on, as if a load
// balancer had moved the clients. Open watches stay at their replica until they end, see
// CutWatches.
func (s *Server) Route(r *Replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routed = r
}

// ServeHTTP lets the replica that Route has chosen answer the request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	r := s.routed
	s.mu.Unlock()
	s.serve(r, w, req)
}

// Close ends every watch and every request that waits. Then it closes the server's listeners with
// their connections, and waits for the requests that came through them. If the caller serves this
// handler with an http.Server, the caller has to close that server.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	s.mu.Unlock()
	s.faults.stop()
	s.storage.mu.RLock()
	for _, r := range s.storage.replicas {
		r.each((*watchcache.Cache).Lose) // whoever waits for a version does not wait any longer
	}
	s.storage.mu.RUnlock()
	var errs []error
	for _, l := range s.allListeners() {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
