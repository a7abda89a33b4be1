package tracepage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// beside is the data of a page that shows two runs of one file.
type beside struct {
	Sides []*Recording `json:"sides"` // the client that is wrong, and the one to compare it with
	Mark  int          `json:"mark"`  // the step from which on they differ

	Verdict []string `json:"verdict"` // of each
}

// HTMLBeside returns a page that steps through two runs of one file at once, whole in itself.
func HTMLBeside(wrong, right *Recording) []byte {
	whole := "has what the server has"
	if slices.Compare(wrong.sent(), right.sent()) > 0 {
		whole = "has lost nothing, but has asked for more"
	}
	return page(wrong.Program+" beside "+right.Program, wrong.Purpose, part("beside.html"), part("beside.js")+part("wire.js"), beside{
		Sides: []*Recording{wrong, right}, Mark: mark(wrong, right),
		Verdict: []string{wrong.verdict(whole), right.verdict("has what the server has")},
	})
}

// mark returns the first step from which on the wrong client lacks what the other one has: objects
// of the server, or a watch. If it lacks nothing at the end, mark returns the first line of the
// server that only one of the two is sent, after the wrong one has its first objects; -1 if there
// is none.
func mark(wrong, right *Recording) int {
	lacks := func(i int) bool {
		w, r := wrong.Steps[i], right.Steps[i]
		return !slices.Equal(w.Store, w.Server) && !slices.Equal(w.Store, r.Store) || r.Watches && !w.Watches
	}
	at := len(wrong.Steps) - 1
	for lacks(at) && lacks(at-1) { // not before the first step, after which nobody has anything
		at--
	}
	if lacks(at) {
		return at
	}
	same := slices.IndexFunc(wrong.Steps, func(s Step) bool { return len(s.Store) > 0 })
	for at = same + 1; at < len(wrong.Steps); at++ {
		if (wrong.Steps[at].Unasked == "") != (right.Steps[at].Unasked == "") {
			return at
		}
	}
	return -1
}

// verdict says how what a client has at the end differs from what the server has, and what it has
// sent. whole is for a client that has everything.
func (r *Recording) verdict(whole string) string {
	end := r.Steps[len(r.Steps)-1]
	held, server := versions(end.Store), versions(end.Server)
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(held)) {
		switch version, there := server[key]; {
		case !there:
			faults = append(faults, "keeps "+short(key)+", which the server no longer has")
		case version != held[key]:
			faults = append(faults, fmt.Sprintf("has %s at %s, which is now at %s", short(key), held[key], version))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(server)) {
		if held[key] == "" {
			faults = append(faults, "lacks "+short(key))
		}
	}
	if !end.Watches {
		faults = append(faults, "has no watch, so it will hear of no change")
	}
	if len(faults) == 0 {
		faults = append(faults, whole)
	}
	sent := r.sent()
	return fmt.Sprintf("At the end, %s %s. Requests: %d for lists and %d for watches; %d refused.",
		r.Program, strings.Join(faults, ", and "), sent[0], sent[1], sent[2])
}

// sent counts the requests for lists and for watches, and how many the server has refused.
func (r *Recording) sent() []int {
	lists, watches, refused := 0, 0, 0
	for _, m := range r.Marks {
		switch {
		case m.Kind == "request" && strings.HasPrefix(m.Text, "watch"):
			watches++
		case m.Kind == "request":
			lists++
		case m.Fault && (m.Kind == "answer" || m.Kind == "event"):
			refused++
		}
	}
	return []int{lists, watches, refused}
}

// versions returns the versions of objects by key.
func versions(objects []string) map[string]string {
	all := map[string]string{}
	for _, object := range objects {
		key, version, _ := strings.Cut(object, "@")
		all[key] = version
	}
	return all
}
