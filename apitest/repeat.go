package apitest

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/relist-go/relist/server/watchcache"
)

// A Repeat is an object that a list has twice, as the list of a server does that goes through its
// objects while they change.
type Repeat struct {
	// Lists is the number of lists, or of pages of lists. If zero, 1. A list that lacks the object
	// does not count.
	Lists int
	// If Resource is set, only lists of that type have an object twice: "pods", "deployments.apps".
	Resource string
	// If Namespace or Name is set, it is an object with that namespace or name. Otherwise it is the
	// first one of the list.
	Namespace, Name string
	// Older says that the list first has the state before the last change of the object. If that is
	// not kept, or if Older is false, the list has the same state twice.
	Older bool
}

// RepeatItem makes the next lists have an object twice: at its place, and once more at the end.
func (s *Server) RepeatItem(x Repeat) error {
	if x.Lists < 0 {
		return fmt.Errorf("repeat an item: %d lists: want 1 or more", x.Lists)
	}
	if err := s.checkResource(x.Resource); err != nil {
		return fmt.Errorf("repeat an item: %w", err)
	}
	x.Lists = max(x.Lists, 1)
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.repeats = append(s.faults.repeats, &x)
	return nil
}

// repeatItem adds an object to a page that has it already.
func (f *faults) repeatItem(req *http.Request, st *storage, t *table, p *page) {
	if spared(req) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.repeats {
		at := slices.IndexFunc(p.items, func(r *revision) bool {
			return (x.Resource == "" || x.Resource == t.res.ID()) && (x.Namespace == "" || x.Namespace == r.namespace) && (x.Name == "" || x.Name == r.name)
		})
		if at < 0 {
			continue
		}
		if x.Lists--; x.Lists == 0 {
			f.repeats = slices.Delete(f.repeats, i, i+1)
		}
		again := p.items[at]
		if older := st.before(t, again); x.Older && older != nil {
			p.items[at] = t.shown(older)
		}
		p.items = append(p.items, again)
		return
	}
}

// before returns the state of an object that r has replaced, or nil.
func (s *storage) before(t *table, r *revision) *revision {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sel := watchcache.Selection{Namespace: r.namespace, Fields: fields.OneTermEqualSelector("metadata.name", r.name)}
	p, err := s.list(t, sel, "", r.rv-1, 0)
	if err != nil || len(p.Objects) == 0 {
		return nil
	}
	return p.Objects[0].(*revision)
}

// RepeatEvents makes each watch that begins at a version get up to so many of the events again that
// led to that version, the last ones that are for this watch and in the window. So a client that
// resumes is told again what it knows. 0 ends it.
func (s *Server) RepeatEvents(events int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.replays = max(events, 0)
}

func (f *faults) replayed(req *http.Request) int {
	if spared(req) {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replays
}

// rewind returns the version from which a watch like q gets the last events before its version
// again: as many as again says.
func (wa *watch) rewind(ctx context.Context, q watchcache.WatchQuery, again int) uint64 {
	to := q.Version
	oldest, changes := wa.cache.Window()
	w, err := wa.cache.Watch(ctx, watchcache.WatchQuery{Selection: q.Selection, Version: oldest})
	if err != nil {
		return to // the window has moved on
	}
	events, _, _ := w.Next(changes)
	for _, e := range slices.Backward(events) {
		if version := e.Object.Version(); version <= to && again > 0 {
			to, again = version-1, again-1
		}
	}
	return to
}
