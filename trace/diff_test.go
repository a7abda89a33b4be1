package trace

import (
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
		"doubled":  {"a b", "a b a b", "@@ -1,2 +1,4 @@\n a\n b\n+a\n+b\n"},
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
