package apitest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drops reports whether a clause asks for objects without managedFields: application/json;drop=metadata.managedFields. A + separates
// several paths, and the server ignores all others.
func (a accepted) drops() bool {
	return slices.Contains(strings.Split(a.params["drop"], "+"), "metadata.managedFields")
}

// dropFormat writes objects as its format does, without their managedFields.
type dropFormat struct {
	format
	res *Resource
}

func (f dropFormat) object(b []byte, r *revision) []byte {
	return f.format.object(b, r.withoutManagedFields(f.res))
}

func (f dropFormat) listHead(b []byte, meta metav1.ListMeta, items []*revision) []byte {
	dropped := make([]*revision, len(items))
	for i, r := range items {
		dropped[i] = r.withoutManagedFields(f.res)
	}
	return f.format.listHead(b, meta, dropped)
}

func (f dropFormat) item(b []byte, i int, r *revision) []byte {
	return f.format.item(b, i, r.withoutManagedFields(f.res))
}

func (f dropFormat) event(b []byte, typ eventType, r *revision) []byte {
	return f.format.event(b, typ, r.withoutManagedFields(f.res))
}

// withoutManagedFields returns the same state without managedFields. It is made once and kept, because several watches need it.
func (r *revision) withoutManagedFields(res *Resource) *revision {
	if !bytes.Contains(r.body[:r.meta], []byte(`"managedFields":`)) {
		return r
	}
	if dropped := r.messages.dropped.Load(); dropped != nil {
		return dropped
	}
	obj, err := r.decode(res)
	if err == nil {
		delete(obj["metadata"].(map[string]any), "managedFields")
		var short *revision
		if short, err = newRevision(res, obj, r.rv); err == nil {
			n := *r
			n.body, n.meta, n.version, n.messages = short.body, short.meta, short.version, short.messages
			r.messages.dropped.Store(&n)
			return &n
		}
	}
	// unreachable: newRevision wrote the body, from what decodeObject had read.
	panic(fmt.Sprintf("apitest: leave managedFields out of %s: %v", r.key, err))
}
