package mutants

import (
	"slices"
	"strings"
	"testing"
)

// Each mutation and each plant quotes the source as it stands. To look takes a second; to run them
// takes minutes.
func TestQuotes(t *testing.T) {
	look := func(what string, m mutation) {
		t.Run(strings.ReplaceAll(what, " ", "-"), func(t *testing.T) { Overlay(t, m.dir, m.edits...) })
	}
	for _, m := range slices.Concat(mutations, ofSmallest) {
		look(m.what, m)
	}
	for _, p := range plants {
		look(p.what, mutation{dir: protocol, edits: p.edits})
	}
}
