package faultlab

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/relist-go/relist/reflector"
)

// shape is something that a server does wrong after a good list, for ever.
type shape struct {
	what string

	// watch answers a watch; nil if it never comes to one.
	watch func(w http.ResponseWriter, req *http.Request)

	// resets: after the good list, every connection is reset as soon as it is there.
	resets bool

	initial reflector.InitialList

	// most is what relist may ask for at most.
	most int
}

const (
	event   = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b","namespace":"default","uid":"2","resourceVersion":"%d"}}}` + "\n"
	gone    = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","message":"too old resource version"}}` + "\n"
	failure = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"reason":"InternalError","message":"oh no"}}` + "\n"
)

var shapes = []shape{
	{
		what: "watch: 200, closed at once, no event", watch: say(http.StatusOK, ""), most: 16,
	},
	{
		what: "watch: ERROR event 410", watch: say(http.StatusOK, gone), most: 16,
	},
	{
		what: "watch: HTTP 410", watch: say(http.StatusGone, ""), most: 16,
	},
	{
		what: "watch: ERROR event 500, the connection held for 5 s", watch: held, most: 16,
	},
	{
		what: "watch: HTTP 500", watch: say(http.StatusInternalServerError, ""), most: 16,
	},
	{
		what: "watch: HTTP 429, Retry-After: 3", watch: throttle, most: 8,
	},
	{
		what: "watch: one event, then a torn chunk", watch: tear, most: 16,
	},
	{
		what: "connections reset when accepted", resets: true, most: 16,
	},
	{
		what: "initial events accepted, their end never sent", watch: endless, initial: reflector.Streaming, most: 4,
	},
	{
		what: "nothing wrong, and nothing happens", watch: idle, most: 2,
	},
}

// say answers every watch in the same way.
func say(code int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func held(w http.ResponseWriter, req *http.Request) {
	say(http.StatusOK, failure)(w, req)
	hold(w, req, 5*time.Second)
}

// hold sends what there is and keeps the answer open.
func hold(w http.ResponseWriter, req *http.Request, d time.Duration) {
	_ = http.NewResponseController(w).Flush()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-req.Context().Done():
	}
}

func throttle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "3")
	http.Error(w, "slow down", http.StatusTooManyRequests)
}

// tear sends one event, whose version is new, and half a chunk.
func tear(w http.ResponseWriter, req *http.Request) {
	var version int
	_, _ = fmt.Sscanf(req.URL.Query().Get("resourceVersion"), "%d", &version)
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	body := fmt.Sprintf(event, version+1)
	_, _ = fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n40\r\n{\"type\":\"MOD", len(body), body)
	_ = buf.Flush()
}

// endless sends one initial event and never says that it was the last, and a good
// watch to who asks for no initial events.
func endless(w http.ResponseWriter, req *http.Request) {
	if req.URL.Query().Get("sendInitialEvents") == "true" {
		say(http.StatusOK, fmt.Sprintf(event, 90))(w, req)
	}
	idle(w, req)
}

// idle keeps the watch open for as long as was asked for.
func idle(w http.ResponseWriter, req *http.Request) {
	seconds := 300
	_, _ = fmt.Sscanf(req.URL.Query().Get("timeoutSeconds"), "%d", &seconds)
	hold(w, req, time.Duration(seconds)*time.Second)
}

// lab is a server with one shape of fault. It counts.
type lab struct {
	shape

	mu      sync.Mutex
	listed  bool // the good list was sent
	counted count
}

// ServeHTTP answers lists well and watches as the shape says.
func (l *lab) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	watch := query.Get("watch") != ""
	l.mu.Lock()
	switch {
	case watch:
		l.counted.watches++
	case query.Get("fieldSelector") != "":
		l.counted.asks++
	default:
		l.counted.lists++
	}
	l.listed = true
	l.mu.Unlock()
	switch {
	case l.resets && watch:
		panic(http.ErrAbortHandler) // on the connection of the list, which was good
	case watch:
		l.watch(w, req)
	default:
		if l.resets {
			w.Header().Set("Connection", "close")
		}
		say(http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[{"metadata":{"name":"a","namespace":"default","uid":"1","resourceVersion":"50"}}]}`)(w, req)
	}
}

// accept resets the connection if that is what the shape does. It reports whether it did.
func (l *lab) accept(conn net.Conn) bool {
	l.mu.Lock()
	reset := l.resets && l.listed
	if reset {
		l.counted.resets++
	}
	l.mu.Unlock()
	if !reset {
		return false
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that closing is a reset
	}
	_ = conn.Close()
	return true
}

// count is what a client asked for. An ask is for one object.
type count struct{ lists, watches, asks, resets int }

func (c count) total() int { return c.lists + c.watches + c.asks + c.resets }

func (c count) String() string {
	s := fmt.Sprintf("%s, %s", plural(c.watches, "watch", "watches"), plural(c.lists, "list", "lists"))
	if c.resets > 0 {
		s = fmt.Sprintf("%s, %s", plural(c.resets, "connection", "connections"), plural(c.lists, "list", "lists"))
	}
	if c.asks > 0 {
		s += ", " + plural(c.asks, "ask", "asks")
	}
	return s
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (l *lab) count() count {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counted
}
