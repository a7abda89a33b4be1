package apitest

import (
	"net/http"
	"sync"
	"time"
)

// Options configures a Server. The zero value is ready to use.
type Options struct {
	// Resources are the types that are served. If nil, DefaultResources.
	Resources []Resource

	// Window is the number of changes of each type that watches can resume from; an older resourceVersion gets a 410.
	// It also bounds how far a slow watch may fall behind before it is closed.
	// If zero, 1000 is used. If negative, 1, so that nearly every resumption fails.
	Window int

	// BookmarkPeriod is the time between bookmarks of a quiet watch that asked for them. One more comes two seconds
	// before the watch's timeout.
	// If zero, one minute is used, as by kube-apiserver. If negative, there are neither: only the bookmark that ends
	// initial events is sent.
	BookmarkPeriod time.Duration

	// ContinueTTL is how long a superseded state can still be listed, and so how long a continue token works.
	// If zero, five minutes are used: how often kube-apiserver compacts etcd. If negative, there is no limit.
	ContinueTTL time.Duration

	// FreshnessTimeout is how long a request that brings a resourceVersion from the future waits for it.
	// If zero, three seconds are used, as by kube-apiserver. If negative, there is no wait.
	FreshnessTimeout time.Duration

	// WatchTimeout is how long a watch that names no timeoutSeconds is served.
	// If zero, 45 minutes are used: the middle of kube-apiserver's range. If negative, there is no limit.
	WatchTimeout time.Duration

	// ResourceVersion is the version before the first commit. If zero, 1 is used: no version is ever 0.
	ResourceVersion uint64

	// CBOR offers application/cbor to requests that accept it, for every type, and application/cbor-seq for their watches,
	// as kube-apiserver does when its feature gate CBORServingAndStorage is on. It is off by default in both: a request
	// then gets what it accepts next. Discovery is JSON always, and so are the bodies of requests.
	// https://kep.k8s.io/4222
	CBOR bool

	// Token, if set, is the bearer token that every API request must bring; others get a 401.
	Token string

	// Log, if set, is called when the head of a watch's answer is sent, and at the end of each request. Several calls may be
	// in progress at once, and a request waits for its own.
	Log func(LoggedRequest)

	// AllowedHosts are names that requests to a Listener may be for, beside addresses and localhost: "api.test".
	// Requests for another host get a 403, because any web page can have a name that leads to loopback.
	AllowedHosts []string

	// AllowedOrigins are the web pages that may use this server, beside its own address: "https://console.test".
	// Requests of other pages get a 403. Programs that are no browsers send no Origin, or the server's address.
	AllowedOrigins []string
}

func (o Options) withDefaults() Options {
	if o.Resources == nil {
		o.Resources = DefaultResources()
	}
	o.Window = or(o.Window, 1000, 1)
	o.BookmarkPeriod = or(o.BookmarkPeriod, time.Minute, 0)
	o.ContinueTTL = or(o.ContinueTTL, 5*time.Minute, 100*365*24*time.Hour)
	o.FreshnessTimeout = or(o.FreshnessTimeout, 3*time.Second, 0)
	o.WatchTimeout = or(o.WatchTimeout, 45*time.Minute, 0)
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
	replicas  map[string]*Replica
	routed    *Replica
	listeners map[*Listener]struct{}
	authority *authority // of the listeners with TLS; nil before the first
}

// New returns a server without objects. Close ends what it holds open.
//
// It starts no goroutine. Inside testing/synctest, make the server within the bubble.
func New(opts Options) *Server {
	opts = opts.withDefaults()
	s := &Server{
		opts:      opts,
		storage:   newStorage(opts.Resources, opts.Window, opts.ContinueTTL, opts.ResourceVersion),
		done:      make(chan struct{}),
		replicas:  make(map[string]*Replica),
		listeners: make(map[*Listener]struct{}),
	}
	s.faults.init(s.done, opts.BookmarkPeriod)
	s.routed = s.replica("", opts.ResourceVersion)
	return s
}

// Replica returns the replica of that name, and makes it if there is none: its watch cache then begins now, so that
// a watch from an older version gets a 410. "" is the one that the server starts with.
func (s *Server) Replica(name string) *Replica {
	s.storage.mu.RLock()
	rv := s.storage.rv
	s.storage.mu.RUnlock()
	return s.replica(name, rv)
}

func (s *Server) replica(name string, born uint64) *Replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.replicas[name]
	if !ok {
		r = &Replica{srv: s, name: name, born: born}
		s.replicas[name] = r
	}
	return r
}

// Route makes r answer the requests that come to the server itself from now on, as when a load balancer moves a client.
// Watches that are open stay where they are until something ends them, see CutWatches.
func (s *Server) Route(r *Replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routed = r
}

// ServeHTTP answers one request from the replica that Route chose.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	r := s.routed
	s.mu.Unlock()
	s.serve(r, w, req)
}

// Close ends every watch and every wait, then closes the server's listeners with their connections, and waits for the
// requests that came through them. A server of the caller's own that uses this one as a handler is the caller's to close.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	listeners := make([]*Listener, 0, len(s.listeners))
	for l := range s.listeners { // all are closed: the order does not matter
		listeners = append(listeners, l)
	}
	s.mu.Unlock()
	s.faults.stop()
	var first error
	for _, l := range listeners {
		if err := l.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
