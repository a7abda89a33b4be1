package apitest

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// kube-apiserver stores an Event once, and serves it in two groups, in which some members have
// different names. In this server, the storage has the names of the core group, and the table of
// the other group converts what it reads and writes.
const (
	coreEvents  = "events"
	groupEvents = "events.events.k8s.io"
)

// eventMembers are the members with two names: that in the core group, and that in events.k8s.io.
//
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
var eventMembers = [][2]string{
	{"involvedObject", "regarding"},
	{"message", "note"},
	{"reportingComponent", "reportingController"},
	{"source", "deprecatedSource"},
	{"firstTimestamp", "deprecatedFirstTimestamp"},
	{"lastTimestamp", "deprecatedLastTimestamp"},
	{"count", "deprecatedCount"},
}

// storedField returns the path that the core group has for a member of the other group.
func storedField(path string) string {
	for _, m := range eventMembers {
		if rest, ok := strings.CutPrefix(path, m[1]); ok && (rest == "" || rest[0] == '.') {
			return m[0] + rest
		}
	}
	return path
}

// storedFields returns a field selector with the names that the storage has.
func (t *table) storedFields(sel fields.Selector) fields.Selector {
	if t.stored == t.res || sel == nil {
		return sel
	}
	stored, err := sel.Transform(func(field, value string) (string, string, error) {
		return storedField(field), value, nil
	})
	if err != nil {
		// unreachable: the function above returns none.
		panic("apitest: " + err.Error())
	}
	return stored
}

// encode encodes an object, as the table has it, for the storage.
func (t *table) encode(obj map[string]any, rv uint64) (*revision, error) {
	if t.stored != t.res {
		obj = renamed(obj, 1, 0)
	}
	return newRevision(t.stored, obj, rv)
}

// shown returns a state from the storage as the table has it.
func (t *table) shown(r *revision) *revision {
	if t.stored == t.res {
		return r
	}
	obj, err := r.decode(t.stored)
	if err == nil {
		r, err = newRevision(t.res, renamed(obj, 0, 1), r.rv)
	}
	if err != nil {
		// unreachable: newRevision has encoded it before.
		panic(fmt.Sprintf("apitest: convert %s: %v", t.res.ID(), err))
	}
	return r
}

// renamed returns an Event with the names of the other group.
func renamed(obj map[string]any, from, to int) map[string]any {
	out := maps.Clone(obj)
	for _, m := range eventMembers {
		delete(out, m[from])
		delete(out, m[to]) // no member of this group
		if v, ok := obj[m[from]]; ok {
			out[m[to]] = v
		}
	}
	return out
}
