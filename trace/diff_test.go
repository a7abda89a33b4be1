package trace

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	for name, tt := range map[string]struct{ want, got, diff string }{
		"equal":    {"a b c", "a b c", ""},
		"empty":    {"", "", ""},
		"first":    {"a b c", "x b c", "@@ -1,3 +1,3 @@\n-a\n+x\n b\n c\n"},
		"last":     {"a b c d e", "a b c d x", "@@ -2,4 +2,4 @@\n b\n c\n d\n-e\n+x\n"},
		"inserted": {"a b a b", "a b x a b", "@@ -1,4 +1,5 @@\n a\n b\n+x\n a\n b\n"},
		"doubled":  {"a b", "a b a b", "@@ -1,2 +1,4 @@\n+a\n+b\n a\n b\n"},
		"gone":     {"a b c", "", "@@ -1,3 +1,0 @@\n-a\n-b\n-c\n"},
		"far apart": {
			"a 1 2 3 4 5 6 7 8 b", "x 1 2 3 4 5 6 7 8 y",
			"@@ -1,4 +1,4 @@\n-a\n+x\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-b\n+y\n",
		},
		"below a comment": {
			"z #one #two 1 2 3 4 a", "z #one #two 1 2 3 4 b",
			"@@ -2,7 +2,7 @@\n #one\n #two\n 1\n 2\n 3\n 4\n-a\n+b\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.diff, diff(strings.Fields(tt.want), strings.Fields(tt.got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A recording of an hour has tens of thousands of lines: what a comparison takes must not grow with
// their square.
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

// FuzzCompareLines puts both texts together again from the edits.
func FuzzCompareLines(f *testing.F) {
	f.Add("abcabba", "cbabac")
	f.Add("", "aab")
	f.Add("abab", "ab")
	f.Fuzz(func(t *testing.T, want, got string) {
		var back [2]string
		for _, e := range compareLines(strings.Split(want, ""), strings.Split(got, "")) {
			back[0] += strings.Repeat(e.text, e.inWant())
			back[1] += strings.Repeat(e.text, e.inGot())
		}
		if back != [2]string{want, got} {
			t.Errorf("%q to %q come back as %q", want, got, back)
		}
	})
}
