package reflector

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

var update = flag.Bool("update", false, "rewrite docs/states.md from the code")

const statesFile = "../docs/states.md"

// TestStates prints the machine as a table and compares it with the one that
// people read. Every row is one call of step.
func TestStates(t *testing.T) {
	got := printStates()
	if *update {
		if err := os.WriteFile(statesFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(statesFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs from the code; run go test ./reflector -run TestStates -update and read the diff (-file +code):\n%s", statesFile, diff)
	}
}

const statesHead = `# The states of the reflector

Printed from ` + "`reflector/machine.go`" + ` by ` + "`go test ./reflector -run TestStates -update`" + `; do not edit.

The machine is always in one of five phases. It remembers a resume point, the
resourceVersion up to which the sink has everything, and where it stands on the
backoff curve. Jitter is left out here: each delay is its least value. In every
row the resume point is 100 and nothing has failed before, unless the row says
otherwise; a stream "alive" for a time was asked for that long ago.

`

// row is one transition. before prepares the state, which starts as the phase of
// its section with resume point 100.
type row struct {
	in     string
	before func(*state)
	input  input
}

func printStates() string {
	var b strings.Builder
	b.WriteString(statesHead)
	for _, section := range []struct {
		title string
		phase phase
		rows  []row
	}{
		{"waiting", waiting{until: t0, then: toList}, waitingRows},
		{"listing", listing{version: "100"}, listingRows},
		{"streaming", streaming{watching: watching{version: "100", asked: t0, heard: t0, deadline: t0.Add(time.Hour), open: true}}, streamingRows},
		{"probing", probing{}, probingRows},
		{"watching", watching{version: "100", asked: t0, deadline: t0.Add(time.Hour), open: true}, watchingRows},
	} {
		fmt.Fprintf(&b, "## %s\n\n| input | next | effects |\n| --- | --- | --- |\n", section.title)
		for _, r := range section.rows {
			s := state{rules: tableRules, phase: section.phase, anchor: anchor{resume: "100"}}
			if r.before != nil {
				r.before(&s)
			}
			next, effects := step(s, t0, r.input)
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.in, describeNext(s, next), describeEffects(effects))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var (
	t0         = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	tableRules = Options{Rand: func() float64 { return 0 }}.rules()
)

var waitingRows = []row{
	{"time is up, before the first list", func(s *state) { s.resume = "" }, tick{}},
	{"time is up, before the first list, most recent state wanted", func(s *state) {
		s.resume = ""
		s.rules = Options{Initial: ListMostRecent}.rules()
	}, tick{}},
	{"time is up, initial events wanted", wantsStream, tick{}},
	{"the same, within an hour of a refusal", func(s *state) { wantsStream(s); s.listUntil = t0.Add(time.Minute) }, tick{}},
	{"time is up, after two lists that the server's events did not reach back to", func(s *state) { s.streamUntil = t0.Add(time.Minute) }, tick{}},
	{"the same, an hour later", func(s *state) { s.streamUntil = t0 }, tick{}},
	{"time is up, then list", nil, tick{}},
	{"time is up, then list, and the resume point was refused", func(s *state) { s.refused = true }, tick{}},
	{"time is up, then list, and a get has brought 110", func(s *state) { s.ahead = "110" }, tick{}},
	{"time is up, then list, from a server that pages every list", func(s *state) { s.paged = true }, tick{}},
	{"time is up, then watch", thenWatch, tick{}},
	{"time is up, then watch, and the server could not be reached before", func(s *state) { thenWatch(s); s.outage = true }, tick{}},
	{"time is not up", func(s *state) { s.phase = waiting{until: t0.Add(time.Minute), then: toList} }, tick{}},
	{"resync is due", func(s *state) {
		s.phase = waiting{until: t0.Add(time.Minute), then: toWatch}
		s.rules = Options{Resync: time.Hour}.rules()
		s.resyncAt = t0
	}, tick{}},
	{"a list is asked for", nil, listWanted{}},
	{"sink failed at a resync", nil, sinkFailed{err: io.ErrShortWrite, anchor: anchor{resume: "100"}}},
}

var listingRows = []row{
	{"list at 120 came", nil, listed{version: "120", pages: 1}},
	{"list at 120 came in pages, where version 0 was asked for", func(s *state) { s.phase = listing{version: "0"} }, listed{version: "120", pages: 3}},
	{"list at 120 came, with objects taken from the sink, and one at 95 is not as it was", nil, listed{version: "120", pages: 1, vain: errOtherHistory}},
	{"list came without a resourceVersion", nil, listed{pages: 1}},
	{"nothing for 2 minutes", func(s *state) { s.phase = listing{version: "100", heard: t0.Add(-2 * time.Minute)} }, tick{}},
	{"410", nil, listFailed{gone()}},
	{"410, and the most recent state was asked for", atMostRecent, listFailed{gone()}},
	{"504 Too large resource version", nil, listFailed{tooLarge()}},
	{"429 with Retry-After: 7", nil, listFailed{statusErr(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 7)}},
	{"500", nil, listFailed{statusErr(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}},
	{"500, for the third time", func(s *state) { s.pace.step = 2 }, listFailed{statusErr(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}},
	{"400, or another fault found with the request, for the third time", func(s *state) { s.pace.failures = 2; s.pace.step = 2 }, listFailed{statusErr(http.StatusBadRequest, metav1.StatusReasonBadRequest, 0)}},
	{"401", nil, listFailed{statusErr(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, 0)}},
	{"403", nil, listFailed{statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}},
	{"404", nil, listFailed{statusErr(http.StatusNotFound, metav1.StatusReasonNotFound, 0)}},
	{"connection refused", nil, listFailed{syscall.ECONNREFUSED}},
	{"cut in mid-list", nil, listFailed{io.ErrUnexpectedEOF}},
	{"another list is asked for", nil, listWanted{}},
	{"list at 120 came, and another is asked for", func(s *state) { s.phase = listing{version: "100", again: true} }, listed{version: "120", pages: 1}},
	{"sink failed at a resync", nil, sinkFailed{err: io.ErrShortWrite, anchor: anchor{resume: "100"}}},
	{"sink failed at a list that was followed by another", atMostRecent, sinkFailed{err: io.ErrShortWrite, anchor: anchor{resume: "100"}, unasked: true}},
}

var streamingRows = []row{
	{"ADDED, MODIFIED or DELETED", nil, event{typ: listwatch.Added, version: "90"}},
	{"BOOKMARK at 110", nil, event{typ: listwatch.Bookmark, version: "110"}},
	{"BOOKMARK at 120 that ends the initial events", nil, event{typ: listwatch.Bookmark, version: "120", initialEnd: true}},
	{"BOOKMARK at 99 that ends them", nil, event{typ: listwatch.Bookmark, version: "99", initialEnd: true}},
	{"BOOKMARK that ends them without a resourceVersion", nil, event{typ: listwatch.Bookmark, initialEnd: true}},
	{"any end before that", nil, ended{io.ErrUnexpectedEOF}},
	{"the same again", func(s *state) { s.incomplete = 1 }, ended{io.ErrUnexpectedEOF}},
	{"nothing for 30 s", func(s *state) {
		s.phase = streaming{watching: watching{version: "100", asked: t0, heard: t0.Add(-maxPause), open: true}}
	}, tick{}},
	{"nothing but changes and deletions for 30 s", func(s *state) {
		s.phase = streaming{watching: watching{version: "100", asked: t0, heard: t0, open: true}, live: t0.Add(-maxPause)}
	}, tick{}},
	{"410, or Too large resource version", nil, ended{gone()}},
	{"the same, and the most recent state was asked for", func(s *state) { s.phase = streaming{watching: watching{asked: t0, heard: t0}} }, ended{gone()}},
	{"the same again", func(s *state) { s.incomplete = 1; s.phase = streaming{watching: watching{asked: t0, heard: t0}} }, ended{gone()}},
	{"422, or another 4xx", nil, ended{statusErr(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0)}},
	{"429", nil, ended{statusErr(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 0)}},
	{"the same again", func(s *state) { s.incomplete = 1 }, ended{statusErr(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 0)}},
	{"403", nil, ended{statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}},
	{"a list is asked for", nil, listWanted{}},
	{"sink failed at initial events that others were to follow", func(s *state) { s.phase = streaming{watching: watching{asked: t0, heard: t0}}; s.refused = true }, sinkFailed{err: io.ErrShortWrite, anchor: anchor{resume: "100"}, unasked: true}},
}

var probingRows = []row{
	{"the server is at 110", nil, probed{version: "110"}},
	{"the server is at 90", nil, probed{version: "90"}},
	{"the server is at 105, and a get has brought 110", func(s *state) { s.ahead = "110" }, probed{version: "105"}},
	{"the server is at 110, and has an object at 95 that is not as it was", nil, probed{version: "110", other: errOtherHistory}},
	{"any error", nil, probed{err: io.ErrUnexpectedEOF}},
	{"nothing for 2 minutes", func(s *state) { s.phase = probing{heard: t0.Add(-2 * time.Minute)} }, tick{}},
	{"a list is asked for", nil, listWanted{}},
}

var watchingRows = []row{
	{"answered", unanswered, opened{}},
	{"ADDED at 101", nil, event{typ: listwatch.Added, version: "101"}},
	{"MODIFIED at 101", nil, event{typ: listwatch.Modified, version: "101"}},
	{"DELETED at 101", nil, event{typ: listwatch.Deleted, version: "101"}},
	{"MODIFIED at 101 that cannot be decoded", nil, event{typ: listwatch.Modified, version: "101", withheld: true}},
	{"MODIFIED at 99", nil, event{typ: listwatch.Modified, version: "99"}},
	{"MODIFIED without a resourceVersion", nil, event{typ: listwatch.Modified}},
	{"BOOKMARK at 150", nil, event{typ: listwatch.Bookmark, version: "150"}},
	{"BOOKMARK at 99", nil, event{typ: listwatch.Bookmark, version: "99"}},
	{"BOOKMARK without a resourceVersion", nil, event{typ: listwatch.Bookmark}},
	{"a get has brought an object at 110", nil, fetched{version: "110"}},
	{"ADDED at 101, in a watch without a resourceVersion", withoutVersion, event{typ: listwatch.Added, version: "101"}},
	{"orderly end, alive 10 s", aliveFor(healthy), ended{io.EOF}},
	{"cut, alive 10 s", aliveFor(healthy), ended{io.ErrUnexpectedEOF}},
	{"orderly end or cut, alive less, with events", delivered, ended{io.ErrUnexpectedEOF}},
	{"the same again", func(s *state) { delivered(s); s.pace.reconnected = true }, ended{io.ErrUnexpectedEOF}},
	{"orderly end or cut at once, without events", nil, ended{io.EOF}},
	{"the same again", func(s *state) { s.pace.empties = 1 }, ended{io.EOF}},
	{"orderly end or cut, alive 5 s, without events", aliveFor(5 * time.Second), ended{io.EOF}},
	{"end of a watch without a resourceVersion", withoutVersion, ended{io.EOF}},
	{"410, in the stream or as the answer", nil, ended{gone()}},
	{"410, at once after a list that took a while", afterSlowList, ended{gone()}},
	{"the same again", func(s *state) { afterSlowList(s); s.outrun = 1 }, ended{gone()}},
	{"410, after a list at 100 that brought no later version", func(s *state) { s.unmoved = "100" }, ended{gone()}},
	{"Too large resource version", unanswered, ended{tooLarge()}},
	{"429, in the stream or as the answer, Retry-After: 7", nil, ended{statusErr(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 7)}},
	{"connection refused, no answer", unanswered, ended{syscall.ECONNREFUSED}},
	{"connection cut before an answer", unanswered, ended{io.EOF}},
	{"502, 503 or 504", unanswered, ended{statusErr(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0)}},
	{"500, or another ERROR event", unanswered, ended{statusErr(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}},
	{"the same for the third time in a row", func(s *state) { s.pace.failures = 2; s.pace.step = 2 }, ended{statusErr(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}},
	{"401", unanswered, ended{statusErr(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, 0)}},
	{"403", unanswered, ended{statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}},
	{"404", unanswered, ended{statusErr(http.StatusNotFound, metav1.StatusReasonNotFound, 0)}},
	{"the server has let its timeout pass by 10 s", func(s *state) {
		s.phase = watching{version: "100", asked: t0.Add(-310 * time.Second), deadline: t0, open: true}
	}, tick{}},
	{"silence, where bookmarks came each minute", func(s *state) {
		s.bookmarked, s.bookmarkGap = true, time.Minute
		s.phase = watching{version: "100", asked: t0.Add(-4 * time.Minute), heard: t0.Add(-minSilence), deadline: t0.Add(time.Hour), open: true, progress: true}
	}, tick{}},
	{"the same, and nothing had come at all", func(s *state) {
		s.bookmarked, s.bookmarkGap = true, time.Minute
		s.phase = watching{version: "100", asked: t0.Add(-minSilence), heard: t0.Add(-minSilence), deadline: t0.Add(time.Hour), open: true}
	}, tick{}},
	{"end of the third silent watch of a minute in a row, where bookmarks came", func(s *state) {
		s.bookmarked, s.mute = true, 2*time.Minute
		aliveFor(time.Minute)(s)
	}, ended{io.EOF}},
	{"a list is asked for", nil, listWanted{}},
	{"sink failed", nil, sinkFailed{err: io.ErrShortWrite, anchor: anchor{resume: "100"}}},
}

func wantsStream(s *state) {
	s.rules = Options{Initial: Watch, Rand: func() float64 { return 0 }}.rules()
}

func thenWatch(s *state)    { s.phase = waiting{until: t0, then: toWatch} }
func atMostRecent(s *state) { s.phase = listing{version: ""}; s.refused = true }
func unanswered(s *state)   { s.phase = watching{version: "100", asked: t0, deadline: t0.Add(time.Hour)} }

func withoutVersion(s *state) {
	s.resume = ""
	s.phase = watching{asked: t0, deadline: t0.Add(time.Hour), open: true}
}

func afterSlowList(s *state) {
	s.phase = watching{version: "100", asked: t0, deadline: t0.Add(time.Hour), slow: true}
}

func aliveFor(d time.Duration) func(*state) {
	return func(s *state) {
		s.phase = watching{version: "100", asked: t0.Add(-d), deadline: t0.Add(time.Hour), open: true}
	}
}

func delivered(s *state) {
	s.phase = watching{version: "100", asked: t0, deadline: t0.Add(time.Hour), open: true, progress: true}
}

func statusErr(code int32, reason metav1.StatusReason, retryAfter int32) error {
	status := metav1.Status{Code: code, Reason: reason, Message: "message"}
	if retryAfter > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func gone() error { return statusErr(http.StatusGone, metav1.StatusReasonExpired, 0) }

func tooLarge() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Code:   http.StatusGatewayTimeout,
		Reason: metav1.StatusReasonTimeout,
		Details: &metav1.StatusDetails{
			RetryAfterSeconds: 1,
			Causes:            []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}},
		},
	}}
}

func describeNext(before, after state) string {
	text := after.phase.name()
	if w, ok := after.phase.(waiting); ok {
		text += map[next]string{toList: ", then list", toWatch: ", then watch"}[w.then]
	}
	if after.resume != before.resume {
		text += fmt.Sprintf("; resume point %s", orNone(after.resume))
	}
	if after.refused && !before.refused {
		text += "; the resume point is refused"
	}
	if after.ahead != before.ahead {
		text += "; no list before " + orNone(after.ahead)
	}
	if after.streamUntil.After(before.streamUntil) {
		text += "; no list for an hour"
	}
	if after.paged && !before.paged {
		text += "; every list is paged"
	}
	if reflect.DeepEqual(after, before) {
		text += " (as before)"
	}
	return text
}

func describeEffects(effects []effect) string {
	if len(effects) == 0 {
		return "none"
	}
	texts := make([]string, 0, len(effects))
	for _, e := range effects {
		texts = append(texts, describeEffect(e))
	}
	return strings.Join(texts, "; ")
}

func describeEffect(e effect) string {
	switch e := e.(type) {
	case list:
		text := "list at " + orMostRecent(e.version)
		if e.limit > 0 {
			text += fmt.Sprintf(" in pages of %d", e.limit)
		}
		return text
	case replace:
		return "replace at " + orNone(e.version)
	case watch:
		if e.initial {
			return fmt.Sprintf("watch with initial events, %s, for %v", notOlder(e.version), e.timeout)
		}
		return fmt.Sprintf("watch from %s for %v", orNone(e.version), e.timeout)
	case collect:
		return "collect"
	case probe:
		return "ask for the most recent version"
	case refuse:
		return "do not take the list"
	case apply:
		return "apply"
	case hangUp:
		return "hang up"
	case resync:
		return "resync"
	case bookmark:
		return "tell: bookmark"
	case relist:
		return fmt.Sprintf("tell: relist (%v)", e.reason)
	case backoff:
		return fmt.Sprintf("tell: wait %v (%v)", e.delay, e.reason)
	case problem:
		return fmt.Sprintf("tell: problem (%v)", e.class)
	}
	return fmt.Sprintf("%T", e)
}

func orNone(version string) string {
	if version == "" {
		return "no version"
	}
	return version
}

func orMostRecent(version string) string {
	if version == "" {
		return "most recent"
	}
	return version
}

func notOlder(version string) string {
	if version == "" {
		return "most recent"
	}
	return "not older than " + version
}
