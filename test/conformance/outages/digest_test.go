package outages

import (
	"fmt"
	"maps"

	"github.com/relist-go/relist/test/conformance/cluster"
)

// held is what a copy holds.
func (r *replica[T]) held() cluster.State {
	state := cluster.State{}
	for key, obj := range r.store.All() {
		state[key] = cluster.Version{UID: string(obj.GetUID()), ResourceVersion: obj.GetResourceVersion()}
	}
	return state
}

// folded is what the deltas of a copy add up to, from nothing.
func folded(history []step) cluster.State {
	state := cluster.State{}
	for _, s := range history {
		switch {
		case s.kind != "delta":
		case s.word == "Deleted":
			delete(state, s.key)
		default:
			state[s.key] = cluster.Version{UID: s.uid, ResourceVersion: s.resourceVersion}
		}
	}
	return state
}

// converge waits until a copy is what the server holds, which nobody may change
// meanwhile, and compares digests, also of the history.
func (r *replica[T]) converge(w *world) {
	r.t.Helper()
	want := w.state()
	r.await(fmt.Sprintf("the server's %d objects", len(want)), func([]step) bool { return maps.Equal(r.held(), want) })
	history, _ := r.steps()
	if got := folded(history).Digest(); got != want.Digest() {
		r.t.Errorf("the deltas add up to %s, the server has %s", got, want.Digest())
	}
	r.t.Logf("%d objects, %s; %d lists, %d watches", len(want), want.Digest(), count(history, "list", ""), count(history, "watch", ""))
}

// deletions returns the deletions of a history by key: how many, and how many of them
// were inferred.
func deletions(history []step) (all, inferred map[string]int) {
	all, inferred = map[string]int{}, map[string]int{}
	for _, s := range history {
		if s.kind == "delta" && s.word == "Deleted" {
			all[s.key+" "+s.uid]++
			if s.inferred {
				inferred[s.key]++
			}
		}
	}
	return all, inferred
}
