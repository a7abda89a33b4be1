package tracepage

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The marks of a diagram say what each line is for, when it was, and between which lanes it goes.
func TestMarks(t *testing.T) {
	const text = `# Why.
start
> GET /api/v1/namespaces/default/configmaps?limit=500&resourceVersion=0
< 200 list rv=100
	a@90
> GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=100&timeoutSeconds=T&watch=true
pop 1
= default/a Replaced@90
= synced
< 200 watch
< ADDED b@101 {"data":{"k":5}}
! object default/b
wait
~ 1s
> GET /api/v1/namespaces/default/configmaps?fieldSelector=metadata.namespace%3Ddefault%2Cmetadata.name%3Db&limit=2
< BOOKMARK @150
< 410 Expired "too old"
sleep 1m
< cut
> GET /api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=150&timeoutSeconds=T&watch=true
stop
> close`
	r := New("some/folder/name.txt", strings.Split(text, "\n"), nil)
	var got []string
	for _, m := range r.Marks {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s>%s %s %s", m.At, map[bool]string{true: "fault"}[m.Fault], m.Kind, m.To, m.Text, m.Detail)))
	}
	want := []string{
		"0s  command> start",
		"0s  request>server list resourceVersion=0 limit=500",
		"0s  answer>client 200 list resourceVersion=100 a@90",
		"0s  request>server watch resourceVersion=100",
		"0s  pop> a Replaced@90",
		"0s  note> synced",
		"0s  answer>client 200 watch",
		`0s  event>client ADDED b@101 {"data":{"k":5}}`,
		"0s fault note> problem: object default/b",
		"1s  request>server refetch b",
		"1s  bookmark>client BOOKMARK @150",
		"1s fault answer>client 410 Expired too old",
		"1m1s fault end>client connection cut",
		"1m1s  request>server watch resourceVersion=150",
		"1m1s  command> stop",
		"1m1s  end>server close by the client",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.Name != "name" || r.Purpose[0] != "Why." || len(r.Steps) != 11 {
		t.Errorf("%q %q %d steps", r.Name, r.Purpose, len(r.Steps))
	}
	// The refetch is open beside the first watch, and the answer is for it.
	for _, s := range r.spans {
		if s.to < 0 || r.Marks[s.from].Text == "refetch" && (s.lane != 1 || r.Marks[s.to].Text != "410 Expired") {
			t.Errorf("%+v", s)
		}
	}
}

// The callbacks are those of an informer: a deletion and a new object stay two, and an unchanged
// object has none.
func TestCalls(t *testing.T) {
	b := &builder{Recording: &Recording{}, versions: map[string]string{"b": "1"}}
	for _, test := range []struct{ key, deltas, want string }{
		{"a", "Replaced@5", "OnAdd(a@5, initial)"},
		{"a", "Replaced@5", "no callback: a@5 has not changed"},
		{"a", "Sync@5", "OnUpdate(a@5 → @5)"},
		{"a", "Updated@6 Updated@7", "OnUpdate(a@5 → @7)"},
		{"b", "Deleted@2? Added@3", "OnDelete(b@2, inferred), OnAdd(b@3)"},
		{"b", "Deleted@4", "OnDelete(b@4)"},
		{"c", "Added@1 Deleted@2", "no callback: c came and went"},
	} {
		if got := strings.Join(b.calls(test.key, test.deltas), ", "); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.key, test.deltas, got, test.want)
		}
	}
	// A whole program says itself what it was told.
	b.Machine, b.Steps = true, []Step{{Text: []string{"start"}}}
	b.came("= OnUpdate default/a@5 -> @6", nil)
	if got := strings.Join(b.Steps[0].Calls, ", "); got != "OnUpdate default/a@5 -> @6" {
		t.Errorf("the program's words became %s", got)
	}
}

// The longest random delay that the drawing names is that of the machine.
func TestSpread(t *testing.T) {
	states, err := os.ReadFile("../../docs/states.md")
	if row := "| list after an outage, if the watch is answered with 410 | 0s | " + Clock(spread) + " |\n"; err != nil || !strings.Contains(string(states), row) {
		t.Errorf("docs/states.md lacks %q (%v)", row, err)
	}
}
