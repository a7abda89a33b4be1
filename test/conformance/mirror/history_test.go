package mirror

import (
	"strconv"
	"testing"

	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
)

// checkHistory checks what holds for every history of deltas: no version of a key
// goes back, and an object is deleted once. vanished are the objects that were
// deleted while nobody could see it.
func checkHistory(t *testing.T, lines []command.Line, vanished map[string]bool) {
	t.Helper()
	versions := map[string]uint64{}
	deleted := map[string]int{}
	inferred := map[string]int{}
	for _, l := range lines {
		if l.Kind != "delta" {
			continue
		}
		version, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
		if err != nil {
			t.Errorf("%+v: %v", l, err)
		}
		if version < versions[l.Key] {
			t.Errorf("%s goes back from %d to %d (%+v)", l.Key, versions[l.Key], version, l)
		}
		versions[l.Key] = version
		if l.Type != "Deleted" {
			continue
		}
		if deleted[l.Key+" "+l.UID]++; deleted[l.Key+" "+l.UID] > 1 {
			t.Errorf("%s with UID %s was deleted twice", l.Key, l.UID)
		}
		if l.Inferred {
			inferred[l.Key]++
		}
	}
	for key := range vanished {
		if inferred[key] != 1 {
			t.Errorf("%s vanished unseen and came as %d inferred deletions, want 1", key, inferred[key])
		}
	}
}

// fold applies the deltas of a history to an empty state.
func fold(lines []command.Line) cluster.State {
	state := cluster.State{}
	for _, l := range lines {
		if l.Kind != "delta" {
			continue
		}
		if l.Type == "Deleted" {
			delete(state, l.Key)
		} else {
			state[l.Key] = cluster.Version{UID: l.UID, ResourceVersion: l.ResourceVersion}
		}
	}
	return state
}
