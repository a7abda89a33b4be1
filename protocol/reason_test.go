package protocol

import (
	"slices"
	"testing"
)

// A new reason has a word, says whether it means an outage, and what follows each kind of request
// that ends for it.
func TestEveryReasonChooses(t *testing.T) {
	columns := map[string]struct {
		follow func(Reason) follow
		known  []follow // what the function that acts on the column has a case for
	}{
		"a list":                     {func(r Reason) follow { return reasons[r].list }, []follow{report, newest, rejected}},
		"a stream of initial events": {func(r Reason) follow { return reasons[r].stream }, []follow{report, newest, rejected, refused, cut}},
		"a watch":                    {func(r Reason) follow { return reasons[r].watch }, []follow{again, report, rejected, relist, dropped}},
	}
	words := map[string]bool{}
	for r := Reason(1); r < reasonsEnd; r++ {
		row := reasons[r]
		if row.word == "" || words[row.word] || row.means == 0 {
			t.Errorf("reason %d has no word of its own, or does not say what it means: %+v", r, row)
		}
		words[row.word] = true
		ends := row.list != never || row.stream != never || row.watch != never
		for request, c := range columns {
			if what := c.follow(r); ends && !slices.Contains(c.known, what) {
				t.Errorf("%v does not say what follows %s that ends for it, or that is unknown there: %d", r, request, what)
			}
		}
	}
}
