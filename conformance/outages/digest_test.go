package outages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// version is what identifies one version of an object.
type version struct{ uid, resourceVersion string }

// digest is that of a state, as in the summary of relist mirror.
func digest(state map[string]version) string {
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(state)) {
		_, _ = fmt.Fprintf(sum, "%s %s %s\n", key, state[key].uid, state[key].resourceVersion)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// held is what a copy holds.
func (r *replica[T]) held() map[string]version {
	state := map[string]version{}
	for key, obj := range r.store.All() {
		state[key] = version{string(obj.GetUID()), obj.GetResourceVersion()}
	}
	return state
}

// folded is what the deltas of a copy add up to, from nothing.
func folded(history []step) map[string]version {
	state := map[string]version{}
	for _, s := range history {
		switch {
		case s.kind != "delta":
		case s.word == "Deleted":
			delete(state, s.key)
		default:
			state[s.key] = version{s.uid, s.resourceVersion}
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
	if got := digest(folded(history)); got != digest(want) {
		r.t.Errorf("the deltas add up to %s, the server has %s", got, digest(want))
	}
	r.t.Logf("%d objects, %s; %d lists, %d watches", len(want), digest(want), count(history, "list", ""), count(history, "watch", ""))
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
