package apitest

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/relist-go/relist/server/watchcache"
)

// A Rewrite changes the objects in the events of watches. The storage and lists keep the object
// unchanged.
type Rewrite struct {
	// Count is the number of events that are changed. An event that goes to two watches counts
	// twice. If zero, 1.
	Count int
	// If Resource is set, only events of that type are changed: "pods", "deployments.apps".
	Resource string
	// If Namespace or Name is set, only events of objects with that namespace or name are changed.
	Namespace, Name string
	// If Type is set, only events of that type are changed: "ADDED", "MODIFIED" or "DELETED".
	Type string
	// Patch is a JSON merge patch for the object of the event. It cannot change kind and
	// apiVersion. It may set any resourceVersion.
	Patch map[string]any
}

// Rewrite changes the objects in the next events that x describes. It returns an error, and
// rewrites nothing, if no event can match x.
func (s *Server) Rewrite(x Rewrite) error {
	switch {
	case x.Count < 0:
		return fmt.Errorf("rewrite events: count %d: want 1 or more", x.Count)
	case x.Type != "" && !slices.Contains([]eventType{watchcache.Added, watchcache.Modified, watchcache.Deleted}, eventType(x.Type)):
		return fmt.Errorf("rewrite events: type %q: want ADDED, MODIFIED or DELETED", x.Type)
	case len(x.Patch) == 0:
		return fmt.Errorf("rewrite events: no patch says what to change")
	}
	if err := s.checkResource(x.Resource); err != nil {
		return fmt.Errorf("rewrite events: %w", err)
	}
	x.Count = max(x.Count, 1)
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.rewrites = append(s.faults.rewrites, &x)
	return nil
}

// rewrite returns the state that a watch gets in place of r, and counts the event.
func (f *faults) rewrite(res *Resource, typ eventType, r *revision) *revision {
	f.mu.Lock()
	i := slices.IndexFunc(f.rewrites, func(x *Rewrite) bool {
		return (x.Resource == "" || x.Resource == res.ID()) && (x.Type == "" || x.Type == string(typ)) &&
			(x.Namespace == "" || x.Namespace == r.namespace) && (x.Name == "" || x.Name == r.name)
	})
	if i < 0 {
		f.mu.Unlock()
		return r
	}
	patch := f.rewrites[i].Patch
	if f.rewrites[i].Count--; f.rewrites[i].Count == 0 {
		f.rewrites = slices.Delete(f.rewrites, i, i+1)
	}
	f.mu.Unlock()
	changed, err := r.patched(res, patch)
	if err != nil {
		return r // the patch has a value that JSON cannot express, so the event stays as it is
	}
	return changed
}

// patched returns r with a patch. The result is only sent and never stored, so its version may be
// anything.
func (r *revision) patched(res *Resource, patch map[string]any) (*revision, error) {
	obj, err := r.decode(res)
	if err != nil {
		return nil, err
	}
	n, err := newRevision(res, mergePatch(obj, patch), r.rv)
	if err != nil {
		return nil, err
	}
	version, given := metadataOf(patch)["resourceVersion"]
	if !given {
		return n, nil
	}
	value, err := appendJSON(nil, version) // the version may be of any type, even null
	if err != nil {
		return nil, err
	}
	begin, end := n.version-len(`"`), n.version+decimalLen(n.rv)+len(`"`)
	n.body = slices.Concat(n.body[:begin], jsontext.Value(value), n.body[end:])
	n.meta += len(value) - (end - begin)
	return n, nil
}
