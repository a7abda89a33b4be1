// Package near finds which names may have been meant by one that is unknown.
package near

import (
	"math"
	"slices"
	"strings"
)

// Name is a name that is offered for each of its spellings.
type Name struct {
	Name      string
	Spellings []string
}

// most is how many names are offered.
const most = 4

// DidYouMean is the end of an error about an unknown name: "; did you mean mirror?", or "" if no
// name is like the one that was typed.
func DidYouMean(typed string, names []string) string {
	all := make([]Name, len(names))
	for i, name := range names {
		all[i] = Name{name, []string{name}}
	}
	if found := Like(typed, all); len(found) > 0 {
		return "; did you mean " + strings.Join(found, ", ") + "?"
	}
	return ""
}

// Like returns the names that are like the one that was typed, the most alike first, four at most.
func Like(typed string, names []Name) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, n := range names {
		best := math.MaxInt
		for _, spelling := range n.Spellings {
			if d := unlike(typed, spelling); d < max(len(typed), len(spelling)) { // else they have nothing in common
				best = min(best, d)
			}
		}
		// A third of the letters may differ.
		if best <= max(1, len(typed)/3) && !slices.ContainsFunc(found, func(f candidate) bool { return f.name == n.Name }) {
			found = append(found, candidate{n.Name, best})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var like []string
	for _, f := range found[:min(len(found), most)] {
		like = append(like, f.name)
	}
	return like
}

// unlike is how far apart two names are: their edit distance, or 1 if the one typed
// is a long beginning of the other.
func unlike(typed, name string) int {
	if len(typed) >= 3 && strings.HasPrefix(name, typed) {
		return min(1, len(name)-len(typed))
	}
	previous := make([]int, len(name)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(typed) {
		current := make([]int, len(name)+1)
		current[0] = i + 1
		for j := range len(name) {
			change := previous[j]
			if typed[i] != name[j] {
				change++
			}
			current[j+1] = min(change, previous[j+1]+1, current[j]+1)
		}
		previous = current
	}
	return previous[len(name)]
}
