package traces

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/trace"
)

var _ = flag.Bool("update", false, "rewrite what is observed of client-go in testdata/")

// What docs/differences.md says of client-go can be seen.
func TestObserved(t *testing.T) {
	trace.Run(t, os.DirFS("testdata"), clientGo)
}

// shownByTest are the headings of which no trace can tell, and what does.
var shownByTest = map[string]func(*testing.T){
	"encodings":                        TestEncodings,
	"tombstones":                       TestTombstones,
	"when-the-queue-has-synced":        TestSyncedBeforeProcessed,
	"an-entry-that-is-being-processed": TestLockedWhileProcessing,
	"what-the-sink-refuses":            TestSinkRefuses,
	"an-event-before-the-first-list":   TestEventBeforeTheFirstListSyncs,
	"one-producer-and-closed-queues":   TestClosedQueueTakesMore,
	"handlers-get-the-latest-state":    TestHandlerIsToldOfEachUpdate,
	"unchanged-objects":                TestListedAgainIsAnUpdate,
	"a-resync-of-handlers":             TestResyncComesAtOnce,
	"removed-handlers":                 TestHandlerThatEndsIsToldNothing,
	"several-namespaces":               TestTwoInformersCallOneHandlerAtOnce,
	"logs":                             TestLogHasALineForEachAttempt,
	"the-work-queue":                   TestWorkQueue,
	"filters-and-waiting":              TestFilterSeesTheFinalState,
	"metrics":                          TestNoReflectorIsMeasured,
}

// shownElsewhere are the headings for which another package has the test, and its file.
var shownElsewhere = map[string][2]string{
	"kubeconfigs":      {"../clientgo/wire_test.go", "TestWire"},
	"types-of-objects": {"../../../listwatch/json/shapes_test.go", "TestShapes"},
	"writes":           {"../writes/clientgo_test.go", "TestWritesDiffer"},
	"shards":           {"../shards/shards_test.go", "TestWithoutTheGate"},
}

// Each heading of docs/differences.md was observed, and nothing else was.
func TestEveryDifferenceIsObserved(t *testing.T) {
	shown := map[string]bool{}
	names, err := filepath.Glob("testdata/*.txt")
	must.OK(t, err)
	for _, name := range names {
		shown[strings.TrimSuffix(filepath.Base(name), ".txt")] = true
	}
	for anchor := range shownByTest {
		shown[anchor] = true
	}
	for anchor, where := range shownElsewhere {
		text, err := os.ReadFile(where[0])
		if err != nil || !strings.Contains(string(text), "\nfunc "+where[1]+"(t *testing.T)") {
			t.Errorf("%s has no %s (%v)", where[0], where[1], err)
		}
		shown[anchor] = true
	}
	anchors := headings(t)
	for anchor := range anchors {
		if !shown[anchor] {
			t.Errorf("docs/differences.md says something of client-go under %q that nothing here shows", anchor)
		}
	}
	for anchor := range shown {
		if !anchors[anchor] {
			t.Errorf("docs/differences.md has nothing about %q, which is shown here", anchor)
		}
	}
}
