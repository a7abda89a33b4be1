package status

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/reflector"
)

// metrics returns the lines of /metrics that are values.
func (f *fixture) metrics() map[string]string {
	f.Helper()
	w := f.get("/metrics")
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		f.Fatalf("/metrics: %d %s", w.Code, w.Header())
	}
	values := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "} ")
			values[name+"}"] = value
		}
	}
	return values
}

// shows fails the test unless the metrics have these values.
func (f *fixture) shows(want map[string]string) {
	f.Helper()
	got := f.metrics()
	for name, value := range want {
		if got[name] != value {
			f.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 0, func(s *apitest.Server) {
			create(t, s, "one", "two")
			if err := s.FailNext(apitest.Failure{Verb: "list", Status: 500}); err != nil {
				t.Error(err)
			}
		})
		pass(time.Second)
		f.shows(map[string]string{
			`relist_lists_total{name="configmaps",result="error"}`:              "1",
			`relist_lists_total{name="configmaps",result="success"}`:            "0",
			`relist_backoffs_total{name="configmaps",reason="failed"}`:          "1",
			`relist_problems_total{name="configmaps",class="list"}`:             "1",
			`relist_synced{name="configmaps"}`:                                  "0",
			`relist_staleness_seconds{name="configmaps"}`:                       "1",
			`relist_failing_seconds{name="configmaps"}`:                         "1",
			`relist_last_event_age_seconds{name="configmaps"}`:                  "1",
			`relist_state{name="configmaps",state="waiting"}`:                   "1",
			`relist_state{name="configmaps",state="watching"}`:                  "0",
			`relist_list_duration_seconds_count{name="configmaps"}`:             "0",
			`relist_list_duration_seconds_bucket{name="configmaps",le="0.001"}`: "0",
		})
		pass(time.Minute)
		f.create("three", "bad")
		synctest.Wait()
		f.shows(map[string]string{
			`relist_lists_total{name="configmaps",result="success"}`:            "1",
			`relist_listed_objects_total{name="configmaps"}`:                    "2",
			`relist_watches_opened_total{name="configmaps"}`:                    "1",
			`relist_events_total{name="configmaps",type="ADDED"}`:               "1",
			`relist_synced{name="configmaps"}`:                                  "1",
			`relist_failing_seconds{name="configmaps"}`:                         "0",
			`relist_quarantined_objects{name="configmaps"}`:                     "1",
			`relist_objects{name="configmaps"}`:                                 "3",
			`relist_queue_depth{name="configmaps"}`:                             "0",
			`relist_list_duration_seconds_count{name="configmaps"}`:             "1",
			`relist_list_duration_seconds_bucket{name="configmaps",le="0.001"}`: "1",
			`relist_list_duration_seconds_bucket{name="configmaps",le="+Inf"}`:  "1",
		})
		f.server.CutWatches(0)
		synctest.Wait()
		f.shows(map[string]string{`relist_watches_ended_total{name="configmaps",reason="cut"}`: "1"})
	})
}

// What a verification found reaches the counts, and durations the right buckets.
func TestCounts(t *testing.T) {
	var c Counts
	trace := c.Trace()
	trace.Verified(reflector.Verified{Differences: 3})
	trace.Relist(reflector.Relist{Reason: reflector.Expired})
	trace.Bookmark("7")
	for _, d := range []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Hour} {
		trace.ListDone(reflector.ListDone{Duration: d})
	}
	trace.ListDone(reflector.ListDone{Duration: time.Hour, Err: errors.New("refused")})
	var text bytes.Buffer
	exposition{&text, "a\\\"\n\xff"}.counts(&c)
	for _, want := range []string{
		`relist_verifications_total{name="a\\\"\n�"} 1`,
		`relist_verified_differences_total{name="a\\\"\n�"} 3`,
		`relist_relists_total{name="a\\\"\n�",reason="expired"} 1`,
		`relist_events_total{name="a\\\"\n�",type="BOOKMARK"} 1`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="0.001"} 1`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="0.01"} 1`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="0.03"} 2`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="300"} 2`,
		`relist_list_duration_seconds_bucket{name="a\\\"\n�",le="+Inf"} 3`,
		`relist_list_duration_seconds_sum{name="a\\\"\n�"} 3600.021`,
		`relist_list_duration_seconds_count{name="a\\\"\n�"} 3`,
	} {
		if !strings.Contains(text.String(), "\n"+want+"\n") {
			t.Errorf("%s is not in\n%s", want, text.String())
		}
	}
}
