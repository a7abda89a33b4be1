package protocol

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// queries are the requests as the server gets them. Each one stands like this in a golden trace,
// where T is any timeout.
var queries = []struct{ what, query string }{
	{"first list", "?limit=500&resourceVersion=0"},
	{"first list with `Consistent`", "?limit=500"},
	{"the next page of a list", "?continue=p2&limit=500"},
	{"list at 100 (not older than 100)", "?resourceVersion=100"},
	{"later consistent list", "?limit=500"},
	{"watch from 100", "?allowWatchBookmarks=true&resourceVersion=100&timeoutSeconds=T&watch=true"},
	{"first initial events", "?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=T&watch=true"},
	{"later initial events, not older than 130", "?allowWatchBookmarks=true&resourceVersion=130&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=T&watch=true"},
	{"refetch default/a", "?fieldSelector=metadata.namespace%3Ddefault%2Cmetadata.name%3Da&limit=2"},
	{"history check: default/b at 5000", "?fieldSelector=metadata.namespace%3Ddefault%2Cmetadata.name%3Db&limit=2&resourceVersion=5000&resourceVersionMatch=Exact"},
	{"history check at 100 if no object is known", "?limit=1&resourceVersion=100&resourceVersionMatch=Exact"},
	{"verification at 100, of metadata alone", "?limit=500&resourceVersion=100&resourceVersionMatch=Exact"},
	{"verification if the server no longer has 100", "?resourceVersion=100"},
}

// TestQueriesAreThoseOfTheTraces: the table of requests is written by hand, so it is compared with
// what was sent.
func TestQueriesAreThoseOfTheTraces(t *testing.T) {
	names, err := filepath.Glob("../testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden traces: %v", err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		all.WriteString("\n")
	}
	for _, q := range queries {
		if !strings.Contains(all.String(), q.query+"\n") {
			t.Errorf("no golden trace has the request of %s: %s", q.what, q.query)
		}
	}
}

func printQueries() string {
	var b strings.Builder
	b.WriteString("## Requests\n\nThe queries as the server gets them, without the selectors of the resource. T is the timeout. A server with a watch cache ignores the limit of a list at resourceVersion 0.\n\n| request | query |\n| --- | --- |\n")
	for _, q := range queries {
		fmt.Fprintf(&b, "| %s | `%s` |\n", q.what, q.query)
	}
	return b.String() + "\n"
}

// printRanges prints what jitter makes of each delay: the least value, and the bound that it stays
// below.
func printRanges() string {
	var b strings.Builder
	b.WriteString("## Jitter\n\nrelist draws each delay evenly between the two values. The sections below have the least.\n\n| delay | least | largest |\n| --- | --- | --- |\n")
	bounds := func(delay func(*stage) time.Duration) (least, most time.Duration) {
		for _, roll := range []float64{0, math.Nextafter(1, 0)} {
			s := newStage(func(r *Rules) { r.Rand = func() float64 { return roll } })
			least, most = most, delay(s).Round(time.Millisecond)
		}
		return least, most
	}
	for _, row := range []struct {
		what  string
		delay func(*stage) time.Duration
	}{
		{"timeout of a watch, in whole seconds", func(s *stage) time.Duration { return s.m.timeout() }},
		{"first idle time of a watch", func(s *stage) time.Duration { return s.m.idle.limit(s.m.rules) }},
		{"first delay after an answer", pauseAfter(0, Failed, 0)},
		{"last delay after an answer", pauseAfter(8, Failed, 0)},
		{"last delay while there is no connection", pauseAfter(8, Unreachable, 0)},
		{"first delay after an answer with Retry-After: 7", pauseAfter(0, Throttled, 7*time.Second)},
		{"last delay after an answer with Retry-After: 7", pauseAfter(8, Throttled, 7*time.Second)},
		{"first delay after an answer with Retry-After: 7200", pauseAfter(0, Throttled, 2*time.Hour)},
		{"list after an outage, if the watch is answered with 410", func(s *stage) time.Duration {
			s.listed()
			s.m.backoff.afterOutage = true
			s.step(Ended{failed(Expired, 410)})
			return s.m.Wake().Sub(s.at)
		}},
		{"history check after a watch was opened", func(s *stage) time.Duration {
			unverifiedAt101(s)
			return s.m.history.unverified.at.Sub(s.at)
		}},
		{"first refetch of a key in quarantine", func(s *stage) time.Duration {
			quarantined(s)
			return s.m.quarantine.entries["b"].next.Sub(s.at)
		}},
		{"first list for repair", func(s *stage) time.Duration {
			nameless(s)
			return s.m.quarantine.repair.at.Sub(s.at)
		}},
		{"verification each hour", func(s *stage) time.Duration {
			s.m.rules.Verify = time.Hour
			s.settled()
			return s.m.verify.next.Sub(s.at) + time.Minute // settled is a minute after the list
		}},
	} {
		least, most := bounds(row.delay)
		fmt.Fprintf(&b, "| %s | %v | %v |\n", row.what, least, most)
	}
	return b.String() + "\n"
}

// pauseAfter is the delay before a list, at a step of the schedules.
func pauseAfter(step int, reason Reason, retryAfter time.Duration) func(*stage) time.Duration {
	return func(s *stage) time.Duration {
		s.m.backoff.answeredStep, s.m.backoff.unreachableStep = step, step
		then := toList
		if reason == Unreachable {
			then = toWatch
		}
		return s.m.backoff.delay(s.m.rules, then, Failure{Reason: reason, RetryAfter: retryAfter})
	}
}

// printRates prints what a server gets out of the machine if it continues doing the same.
func printRates() string {
	var b strings.Builder
	b.WriteString("## Rates\n\nWhat a server gets in the first and in the tenth minute, if the machine is synced and the server does this again and again. There is no jitter.\n\n| server | watches, 1st minute | lists | watches, 10th minute | lists |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range []struct {
		what   string
		answer func(*stage)
	}{
		{"ends each watch at once, without an event", func(s *stage) {
			s.step(Opened{})
			s.step(Ended{failed(Closed, 0)})
		}},
		{"ends each watch at once, after one event", func(s *stage) {
			s.step(Opened{})
			s.step(event(object.Modified, good("a", fmt.Sprint(s.at.Unix()), "90")))
			s.step(Ended{failed(Closed, 0)})
		}},
		{"answers each watch with 500", func(s *stage) { s.step(Ended{failed(Failed, 500)}) }},
		{"answers each watch with 503", func(s *stage) { s.step(Ended{failed(Unavailable, 503)}) }},
		{"answers each watch with 410", func(s *stage) { s.step(Ended{failed(Expired, 410)}) }},
		{"refuses each connection", func(s *stage) { s.step(Ended{failed(Unreachable, 0)}) }},
	} {
		watches, lists := requestsEachMinute(row.answer)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", row.what, watches[0], lists[0], watches[9], lists[9])
	}
	return b.String() + "\n"
}

// requestsEachMinute counts the requests for ten minutes. Lists come, and answer says what becomes
// of a watch.
func requestsEachMinute(answer func(*stage)) (watches, lists [10]int) {
	s := newStage()
	s.settled()
	start := s.at
	answer(s)
	for {
		minute := int(s.at.Sub(start) / time.Minute)
		_, list := sent[List](s)
		_, watch := sent[Watch](s)
		switch {
		case minute >= len(watches):
			return watches, lists
		case list:
			lists[minute]++
			s.step(Listed{Sum: s.sum(fmt.Sprint(s.at.Unix()), good("a", "90", ""))})
		case watch:
			watches[minute]++
			answer(s)
		default:
			s.tick()
		}
	}
}
