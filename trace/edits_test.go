package trace

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A recording of an hour has tens of thousands of lines: what a comparison takes must not grow with their square.
func TestDiffOfLongTraces(t *testing.T) {
	const n = 4000
	lines := func(word string, changed ...int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprint(word, i)
		}
		for _, i := range changed {
			all[i] = "changed"
		}
		return all
	}
	for name, tt := range map[string]struct {
		got      []string
		edits    int
		megabyte float64
	}{
		"equal":                      {lines("a"), 0, 1},
		"one line":                   {lines("a", n/2), 2, 1},
		"the first and the last one": {lines("a", 0, n-1), 4, 40},
		"all":                        {lines("b"), 2 * n, 40},
	} {
		t.Run(name, func(t *testing.T) {
			want := lines("a")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			edits := compareLines(want, tt.got)
			runtime.ReadMemStats(&after)
			if allocated := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; allocated > tt.megabyte {
				t.Errorf("%.1f MB were allocated, want %.1f", allocated, tt.megabyte)
			}
			changed := 0
			var back [2][]string
			for _, e := range edits {
				changed += 2 - e.inWant() - e.inGot()
				if e.inWant() == 1 {
					back[0] = append(back[0], e.text)
				}
				if e.inGot() == 1 {
					back[1] = append(back[1], e.text)
				}
			}
			if diff := cmp.Diff([2][]string{want, tt.got}, back); diff != "" || changed != tt.edits {
				t.Errorf("%d lines changed, want %d, and the texts come back as (-want +got)\n%s", changed, tt.edits, diff)
			}
		})
	}
}

// FuzzEdits compares their number with that of the textbook, by a longest common subsequence.
func FuzzEdits(f *testing.F) {
	f.Add("abcabba", "cbabac")
	f.Add("", "aab")
	f.Add("abab", "ab")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)*len(b) > 1e6 || len(a)+len(b) > maxEdits {
			return
		}
		want, got := strings.Split(a, ""), strings.Split(b, "")
		common := make([][]int, len(want)+1)
		for i := range common {
			common[i] = make([]int, len(got)+1)
		}
		for i := range want {
			for j := range got {
				common[i+1][j+1] = max(common[i][j+1], common[i+1][j])
				if want[i] == got[j] {
					common[i+1][j+1] = common[i][j] + 1
				}
			}
		}
		equal, back := 0, [2]string{}
		for _, e := range compareLines(want, got) {
			if e.op == ' ' {
				equal++
			}
			back[0] += strings.Repeat(e.text, e.inWant())
			back[1] += strings.Repeat(e.text, e.inGot())
		}
		if longest := common[len(want)][len(got)]; equal != longest || back != [2]string{a, b} {
			t.Errorf("%q to %q: %d equal, want %d, and back %q", a, b, equal, longest, back)
		}
	})
}
