package relay

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/reflector"
)

// Status is the state of a relay.
type Status struct {
	Resources []ResourceStatus // in the order of [Options.Resources]
}

// ResourceStatus is the state of one resource.
type ResourceStatus struct {
	Resource schema.GroupVersionResource
	Watches  int64 // of readers, that are open
	Objects  int
	Version  uint64 // 0 before the first list
	Oldest   uint64 // a watch can begin at this version or later
	Changes  int    // in the window
	Upstream reflector.Status
}

// Status returns the state of the relay.
func (r *Relay) Status() Status {
	var s Status
	for _, u := range r.upstreams {
		one := ResourceStatus{
			Resource: u.GroupVersionResource, Watches: u.watches.Load(), Objects: u.cache.Len(), Version: u.cache.Version(),
			Upstream: u.reflector.Status(),
		}
		one.Oldest, one.Changes = u.cache.Window()
		s.Resources = append(s.Resources, one)
	}
	return s
}

// serveReady answers 200 if every resource that the upstream has can be read, and says of each how
// old it is. It says nothing of objects, and not why requests fail, because everyone may ask.
func (r *Relay) serveReady(w http.ResponseWriter) {
	var text strings.Builder
	ready := true
	for _, u := range r.upstreams {
		if u.gone() != nil {
			_, _ = fmt.Fprintf(&text, "%s not found at the API server\n", u.GroupResource()) // so the relay serves what the server does
			continue
		}
		status, now := u.reflector.Status(), time.Now()
		age := status.Staleness(now)
		state := fmt.Sprintf("ok, %s old", age.Round(time.Second))
		switch {
		case u.cache.Version() == 0:
			ready, state = false, "not listed yet"
		case r.opts.MaxStaleness > 0 && age > r.opts.MaxStaleness:
			ready, state = false, fmt.Sprintf("too old, %s old", age.Round(time.Second))
		}
		if since, err := status.Failing(); err != nil {
			state += fmt.Sprintf("; requests to the API server have failed for %s: the log says why", now.Sub(since).Round(time.Second))
		}
		_, _ = fmt.Fprintf(&text, "%s %s\n", u.GroupResource(), state) // a Builder never fails
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write([]byte(text.String())) // an error is a client that hung up
}
