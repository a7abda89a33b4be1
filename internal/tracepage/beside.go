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
	Mark  int          `json:"mark"`  // the step with a comment "Here: ..."; -1 if there is none

	Lost     bool     `json:"lost"`    // the wrong client does not have what the server has
	Verdict  []string `json:"verdict"` // of each
	Requests string   `json:"requests"`
}

// HTMLBeside returns a page that steps through two runs of one file at once, whole in itself.
func HTMLBeside(wrong, right *Recording) []byte {
	whole := "has what the server has"
	if slices.Compare(wrong.sent(), right.sent()) > 0 {
		whole = "has lost nothing, but has asked for more"
	}
	return page(wrong.Name+": "+wrong.Program+" beside "+right.Program, nil, part("beside.html"), part("beside.js")+part("wire.js"), beside{
		Sides: []*Recording{wrong, right},
		Mark:  slices.IndexFunc(wrong.Steps, func(s Step) bool { return strings.HasPrefix(s.Note, "Here: ") }),
		Lost:  len(wrong.faults()) > 0, Verdict: []string{wrong.verdict(whole), right.verdict("has what the server has")},
		Requests: fmt.Sprintf("Requests of %s: %s. Requests of %s: %s.", wrong.Program, requests(wrong.sent()), right.Program, requests(right.sent())),
	})
}

// verdict says how what a client has at the end differs from what the server has. whole is for a
// client that has everything.
func (r *Recording) verdict(whole string) string {
	if faults := r.faults(); len(faults) > 0 {
		whole = strings.Join(faults, ", and ")
	}
	return fmt.Sprintf("At the end, %s %s.", r.Program, whole)
}

// requests says what a client has sent.
func requests(sent []int) string {
	return fmt.Sprintf("%d for lists and %d for watches, %d refused", sent[0], sent[1], sent[2])
}

// faults says what a client lacks at the end, or has and should not.
func (r *Recording) faults() (faults []string) {
	end := r.Steps[len(r.Steps)-1]
	held, server := versions(end.Store), versions(end.Server)
	for _, key := range slices.Sorted(maps.Keys(held)) {
		switch version, there := server[key]; {
		case !there:
			faults = append(faults, "has "+short(key)+", which the server no longer has")
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
	return faults
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

func versions(objects []string) map[string]string {
	all := map[string]string{}
	for _, object := range objects {
		key, version, _ := strings.Cut(object, "@")
		all[key] = version
	}
	return all
}
