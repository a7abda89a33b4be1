package apitest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// faults has the faults that are in effect. Each of them affects all replicas. (Freeze, which
// affects one replica, is not here.)
type faults struct {
	done <-chan struct{} // closed by Close of the server

	mu       sync.Mutex
	streams  map[*stream]struct{}
	opened   chan struct{} // closed when the next watch is open; nil while nobody waits
	cuts     []*Cut        // for the next watches, oldest first
	listCuts []*Cut        // for the next lists
	failures []*Failure
	rewrites []*Rewrite
	period   time.Duration // of bookmarks
	goAway   int
	refused  bool
	stalled  chan struct{} // nil if watches are not stalled; Resume closes it
	holds    []*hold       // that wait for a request
	held     []*hold       // that have one
	swallow  map[string]bool
	reopen   *time.Timer
	pending  sync.WaitGroup // the timer above
}

// Which bookmarks to swallow.
const (
	swallowBookmarks        = "bookmarks"
	swallowInitialEventsEnd = "initial-events-end"
)

func (f *faults) init(done <-chan struct{}, bookmarkPeriod time.Duration) {
	f.done = done
	f.period = bookmarkPeriod
	f.streams = make(map[*stream]struct{})
	f.swallow = make(map[string]bool)
}

// stop stops the timer and waits for its function.
func (f *faults) stop() {
	f.mu.Lock()
	f.cancelReopen()
	f.mu.Unlock()
	f.pending.Wait()
}

// cancelReopen stops the timer of Refuse. The caller holds the lock.
func (f *faults) cancelReopen() {
	if f.reopen != nil && f.reopen.Stop() {
		f.pending.Done()
	}
	f.reopen = nil
}

// open makes the stream for the answer to a watch.
func (f *faults) open(out output, resource string, spared bool) *stream {
	st := &stream{faults: f, out: out, resource: resource, spared: spared, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[st] = struct{}{}
	if c := takeCut(&f.cuts, resource, spared); c != nil {
		st.cut, st.left = c, c.After
		st.signal()
	}
	return st
}

// takeCut removes and returns the first cut that is for a type, or returns nil.
func takeCut(cuts *[]*Cut, resource string, spared bool) *Cut {
	i := slices.IndexFunc(*cuts, func(c *Cut) bool { return c.Resource == "" || c.Resource == resource })
	if i < 0 || spared {
		return nil
	}
	c := (*cuts)[i]
	*cuts = slices.Delete(*cuts, i, i+1)
	return c
}

func (f *faults) release(st *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, st)
}

// each calls change for every open stream that is not spared, and wakes the stream. If resource is
// not empty, or slow is true, it leaves out the streams of other types, or those whose client
// reads. It returns the number of streams.
func (f *faults) each(resource string, slow bool, change func(*stream)) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for st := range f.streams { // each is changed by itself: the order does not matter
		if st.spared || resource != "" && st.resource != resource {
			continue
		}
		st.mu.Lock()
		if !slow || st.writing {
			n++
			change(st)
			st.signal()
		}
		st.mu.Unlock()
	}
	return n
}

func (f *faults) stalledUntil() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stalled
}

func (f *faults) swallows(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.swallow[what]
}

// connection applies those faults to a request that concern its connection: Refuse and GoAway.
func (f *faults) connection(w http.ResponseWriter, req *http.Request) {
	if spared(req) {
		return
	}
	f.mu.Lock()
	refused, away := f.refused, f.goAway > 0
	if away && !refused {
		f.goAway--
	}
	f.mu.Unlock()
	if refused {
		panic(http.ErrAbortHandler) // for programs that serve the handler themselves; a Listener is shut by now
	}
	if away {
		w.Header().Set("Connection", "close") // over HTTP/2, net/http sends GOAWAY for this header
	}
}

// take returns the failure for a request in a namespace that concerns these types, and counts it.
// If no failure matches, it returns false.
func (f *faults) take(req *http.Request, verb, namespace string, types ...string) (Failure, bool) {
	if spared(req) {
		return Failure{}, false
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = slices.DeleteFunc(f.failures, func(x *Failure) bool { return x.over(now) })
	i := slices.IndexFunc(f.failures, func(x *Failure) bool {
		return (x.Verb == "" && verb != verbDiscover || isVerb(x.Verb, req, verb)) && (x.Resource == "" || slices.Contains(types, x.Resource)) &&
			(x.Namespace == "" || x.Namespace == namespace) && strings.Contains(req.UserAgent(), x.UserAgent)
	})
	if i < 0 {
		return Failure{}, false
	}
	x := *f.failures[i]
	if x.Count > 0 {
		if f.failures[i].Count--; f.failures[i].Count == 0 {
			f.failures = slices.Delete(f.failures, i, i+1)
		}
	}
	return x, true
}

// CutWatches breaks every open watch after that many more bytes of its body, even in the middle of
// an event. If after is zero, the watches break at once. CutWatches returns the number of watches.
func (s *Server) CutWatches(after int64) int {
	n, _ := s.Cut(Cut{After: after}) // it names no resource
	return n
}

// A Cut breaks watches or lists after a number of bytes.
type Cut struct {
	// After is the number of bytes of the body that are still sent. A negative number means 0.
	After int64
	// Resource limits the Cut to one type: "pods", "deployments.apps".
	Resource string
	// Next is a number of watches. If positive, the Cut breaks the next watches that are opened, as
	// many as Next says, and leaves the open ones alone.
	Next int
	// Lists says that the Cut breaks lists and no watches: the next list, or as many as Next says.
	// A list that is shorter than After is not cut.
	Lists bool
	// Clean says that the stream ends cleanly, as at its timeout.
	Clean bool
	// Reset says that the connection ends with a TCP reset. Over HTTP/2 the stream is reset,
	// whatever Reset says.
	Reset bool
}

// Cut breaks watches or lists as c says. It returns the number of open watches that it breaks, or
// of watches or lists to come. The error is one of a resource that the server does not have.
func (s *Server) Cut(c Cut) (int, error) {
	if err := s.checkResource(c.Resource); err != nil {
		return 0, fmt.Errorf("cut watches or lists: %w", err)
	}
	c.After = max(c.After, 0)
	if c.Lists {
		c.Next = max(c.Next, 1)
	}
	if c.Next > 0 {
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		to := &s.faults.cuts
		if c.Lists {
			to = &s.faults.listCuts
		}
		*to = append(*to, slices.Repeat([]*Cut{&c}, c.Next)...)
		return c.Next, nil
	}
	return s.faults.each(c.Resource, false, func(st *stream) { st.cut, st.left = &c, c.After }), nil
}

// EndWatches ends every open watch cleanly, as a server does when it shuts down. It returns the
// number of watches.
func (s *Server) EndWatches() int {
	n, _ := s.End(End{}) // it names no resource
	return n
}

// An End says which watches end.
type End struct {
	// Resource limits the End to one type: "pods", "deployments.apps".
	Resource string
	// Slow limits it to the watches whose client does not read: the server has begun to write, and
	// the connection does not take all bytes. kube-apiserver ends such a watch when its buffer of
	// events is full. A connection of [StartInMemory] has no buffer; one of TCP takes some
	// megabytes that nobody reads. See
	// docs/incidents/2-closed-channel.md#the-reader-that-the-server-cuts.
	Slow bool
}

// End ends open watches cleanly. A slow client first gets the bytes that the server has begun to
// write; what changed later, it has to ask for. End returns the number of watches. The error is one
// of a resource that the server does not have.
func (s *Server) End(e End) (int, error) {
	if err := s.checkResource(e.Resource); err != nil {
		return 0, fmt.Errorf("end watches: %w", err)
	}
	return s.faults.each(e.Resource, e.Slow, func(st *stream) { st.ended = true }), nil
}

// checkResource returns an error if a fault is limited to a type that the server does not have.
func (s *Server) checkResource(resource string) error {
	if resource == "" || s.storage.tables[resource] != nil {
		return nil
	}
	return fmt.Errorf("resource %q: the server has none of this name; write it as \"pods\" or \"deployments.apps\"", resource)
}

// Inject writes raw bytes into every open watch, such as half an event, an event of an unknown
// type, or text of a proxy. It returns the number of watches.
func (s *Server) Inject(raw []byte) int {
	raw = slices.Clone(raw)
	return s.faults.each("", false, func(st *stream) { st.inject = append(st.inject, raw) })
}

// Stall keeps the server from sending anything to watches, even after their timeout. The
// connections stay open. Resume ends it.
func (s *Server) Stall() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.stalled == nil {
		s.faults.stalled = make(chan struct{})
	}
}

// Resume ends Stall, Hold and Refuse.
func (s *Server) Resume() error {
	s.faults.mu.Lock()
	if s.faults.stalled != nil {
		close(s.faults.stalled)
		s.faults.stalled = nil
	}
	for _, h := range s.faults.held {
		close(h.released)
	}
	s.faults.holds, s.faults.held = nil, nil
	s.faults.mu.Unlock()
	return s.accept()
}

// GoAway makes the server ask the client to leave the connection, in the answer to each of the next
// requests, as many as requests says. Over HTTP/2 it sends GOAWAY, and over HTTP/1.1 the header
// "Connection: close".
func (s *Server) GoAway(requests int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.goAway = requests
}

// SwallowBookmarks says whether the server leaves out bookmarks, as some proxies do. The bookmark
// that ends initial events has its own switch.
func (s *Server) SwallowBookmarks(on bool) { s.setSwallow(swallowBookmarks, on) }

// SwallowInitialEventsEnd says whether the server leaves out the bookmark that ends initial events.
func (s *Server) SwallowInitialEventsEnd(on bool) { s.setSwallow(swallowInitialEventsEnd, on) }

func (s *Server) setSwallow(what string, on bool) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.swallow[what] = on
}

// SetBookmarkPeriod changes Options.BookmarkPeriod for open and later watches. As there, zero means
// one minute, and a negative number means no bookmarks. An open watch gets its next bookmark after
// one period from now.
func (s *Server) SetBookmarkPeriod(d time.Duration) {
	d = or(d, time.Minute, 0)
	f := &s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.period = d
	for st := range f.streams { // each is changed by itself: the order does not matter
		st.signal()
	}
}

func (f *faults) bookmarkPeriod() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.period
}

// ClearFaults removes the failures, cuts, rewrites and dropped events that are still to come. The
// server sends bookmarks again, with the period in Options. What has already happened stays as it
// is. Stall, Hold and Refuse continue until Resume.
func (s *Server) ClearFaults() {
	s.SetBookmarkPeriod(or(s.opts.BookmarkPeriod, -1, 0))
	s.faults.mu.Lock()
	s.faults.cuts, s.faults.listCuts, s.faults.failures, s.faults.rewrites, s.faults.goAway = nil, nil, nil, nil, 0
	clear(s.faults.swallow)
	s.faults.mu.Unlock()
	s.storage.mu.Lock()
	clear(s.storage.drops)
	s.storage.mu.Unlock()
}
