package metrics

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

// What a verification found reaches the counts, and durations the right buckets.
func TestCounts(t *testing.T) {
	var c Counts
	trace := c.Trace()
	trace.Verified(reflector.Verified{Differences: 3})
	trace.Relist(reflector.Relist{Reason: protocol.Expired})
	trace.Bookmark("7")
	for _, reason := range []reflector.Reason{protocol.Unreachable, protocol.Unavailable, protocol.Throttled, protocol.ConnectionLost} {
		trace.WatchEnd(reflector.WatchEnd{Reason: reason})
	}
	for _, d := range []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Hour} {
		trace.ListDone(reflector.ListDone{Duration: d})
	}
	trace.ListDone(reflector.ListDone{Duration: time.Hour, Err: errors.New("refused")})
	var text Text
	text.Of("a\\\"\n\xff").Counts(&c)
	for _, want := range []string{
		`relist_verifications_total{name="a\\\"\n�"} 1`,
		`relist_verified_differences_total{name="a\\\"\n�"} 3`,
		`relist_relists_total{name="a\\\"\n�",reason="expired"} 1`,
		`relist_events_total{name="a\\\"\n�",type="BOOKMARK"} 1`,
		`relist_problems_total{name="a\\\"\n�",class="server"} 3`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="0.001"} 1`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="0.01"} 1`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="0.03"} 2`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="300"} 2`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="+Inf"} 3`,
		`relist_list_duration_seconds_sum{name="a\\\"\n�"} 3600.021`,
		`relist_list_duration_seconds_count{name="a\\\"\n�"} 3`,
	} {
		if !strings.Contains(string(text.Bytes()), "\n"+want+"\n") {
			t.Errorf("%s is not in\n%s", want, string(text.Bytes()))
		}
	}
}

var update = flag.Bool("update", false, "rewrite testdata/metrics.txt")

// The page has every metric, with every label. The tests of the module prometheus/ read it with
// Prometheus' own parsers, and compare it with what that module shows of the same.
func TestPage(t *testing.T) {
	const page = "testdata/metrics.txt"
	var c Counts
	trace := c.Trace()
	trace.Relist(reflector.Relist{Reason: protocol.Expired})
	trace.WatchEnd(reflector.WatchEnd{Reason: protocol.Closed})
	trace.Backoff(reflector.Backoff{Reason: protocol.ConnectionLost})
	trace.ListDone(reflector.ListDone{})
	var text Text
	m := text.Of("configmaps")
	m.Status(reflector.Status{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	m.Counts(&c)
	if *update {
		if err := os.WriteFile(page, text.Bytes(), 0o644); err != nil { // everybody may read a page
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text.Bytes(), want) {
		t.Errorf("%s is out of date: go test . -run TestPage -update\n%s", page, text.Bytes())
	}
}
