package demo

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/reflector"
)

// userAgent is that of the client. The loop has that of net/http.
const (
	userAgent     = "relist-demo"
	loopUserAgent = "Go-http-client"
)

// tally counts what the clients meet and ask for, by names that scenes wait for.
type tally struct {
	watching atomic.Bool // the client's watch was answered

	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) add(name string) (count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[name]++
	return t.counts[name]
}

func (t *tally) count(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[name]
}

// trace counts what the reflector tells.
func (t *tally) trace() *reflector.Trace {
	return &reflector.Trace{
		ListDone: func(l reflector.ListDone) {
			if l.Err == nil {
				t.add("lists")
			}
		},
		WatchOpen: func() { t.watching.Store(true) },
		WatchEnd: func(e reflector.WatchEnd) {
			t.watching.Store(false)
			t.add(e.Reason.String())
		},
		Problem:  func(p reflector.Problem) { t.add("problem: " + p.Class.String()) },
		Released: func(string) { t.add("released") },
	}
}

// answered counts what the server answers, such as "410 to list". A watch of the loop is counted
// when it is open.
func (t *tally) answered(r apitest.LoggedRequest) {
	watch, loop := strings.Contains(r.URI, "watch="), !strings.HasPrefix(r.UserAgent, userAgent)
	switch {
	case loop && r.Began:
		t.add("loop watches")
		if !strings.Contains(r.URI, "resourceVersion=") {
			t.add("loop starts")
		}
	case watch:
	case strings.Contains(r.URI, "continue="):
		t.add(fmt.Sprint(r.Status, " to page"))
	case strings.Contains(r.URI, "fieldSelector="):
		t.add(fmt.Sprint(r.Status, " to one object"))
	default:
		t.add(fmt.Sprint(r.Status, " to list"))
	}
}
