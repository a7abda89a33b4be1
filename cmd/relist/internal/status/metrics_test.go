package status

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
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
