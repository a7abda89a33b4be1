package apitest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A hold is what keeps one request waiting.
type hold struct {
	verb     string
	met      chan struct{} // closed when the request is there
	released chan struct{} // closed by Resume
}

// Hold makes the next request of a client wait before the server looks at what it has: until
// Resume, or until the request's connection breaks. So a test can do something at any point of a
// conversation, for example restore a backup between two pages, or between a list and the watch
// that follows it:
//
//	held, err := server.Hold("watch") // or "page"
//	<-held
//	err = server.Restore(apitest.Restore{ResourceVersion: backup, KeepConnections: true})
//	err = server.Resume()
//
// The channel is closed when the request waits. verb is one of those of [Failure], but not
// discover. Hold holds one request; the same request may meet another fault when it continues.
func (s *Server) Hold(verb string) (held <-chan struct{}, err error) {
	if verb == verbDiscover || !slices.Contains(failureVerbs, verb) {
		return nil, fmt.Errorf("hold the next request: verb %q: want one of %s", verb, strings.Join(failureVerbs[:len(failureVerbs)-1], ", "))
	}
	h := &hold{verb: verb, met: make(chan struct{}), released: make(chan struct{})}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.holds = append(s.faults.holds, h)
	return h.met, nil
}

// awaitRelease waits if the request is to be held. It returns false if the request has ended.
func (f *faults) awaitRelease(req *http.Request, verb string) bool {
	if spared(req) {
		return true
	}
	f.mu.Lock()
	i := slices.IndexFunc(f.holds, func(h *hold) bool { return isVerb(h.verb, req, verb) })
	if i < 0 {
		f.mu.Unlock()
		return true
	}
	h := f.holds[i]
	f.holds = slices.Delete(f.holds, i, i+1)
	f.held = append(f.held, h)
	f.mu.Unlock()
	close(h.met)
	select {
	case <-h.released:
		return true
	case <-req.Context().Done():
	case <-f.done:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = slices.DeleteFunc(f.held, func(other *hold) bool { return other == h })
	return false
}
