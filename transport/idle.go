package transport

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/option"
)

// idleLimits says how a connection is found whose other end is gone without a word. A watch
// on it would otherwise wait for its whole timeout, and so would every request that shares
// the connection. A ping is sent after idle without a byte, and the connection fails if no
// answer comes to it.
//
// For HTTP/2, net/http sends the pings. For a WebSocket, liveness does: gorilla/websocket
// sends none, and after a read deadline of its own it could not go on reading. HTTP/1.1 has
// no pings: there the reader of the watch gives it up when it has been idle for too long.
type idleLimits struct {
	idle   time.Duration // 0: no pings
	answer time.Duration // 0: no bound
}

func idleLimitsOf(cfg Config) idleLimits {
	s := idleLimits{
		idle:   option.Or(cfg.ReadIdleTimeout, defaultReadIdleTimeout),
		answer: option.Or(cfg.PingTimeout, defaultPingTimeout),
	}
	if s.answer == 0 {
		s.idle = 0 // a ping whose answer may take forever tells nothing
	}
	return s
}

// http2 is for net/http.
func (s idleLimits) http2() *http.HTTP2Config {
	if s.idle == 0 {
		return &http.HTTP2Config{}
	}
	return &http.HTTP2Config{SendPingTimeout: s.idle, PingTimeout: s.answer}
}

// errNoPong ends a WebSocket whose other end is gone without a word. It is neither io.EOF
// nor the caller's doing.
var errNoPong = errors.New("the connection is dead: no answer came to a ping (Config.PingTimeout)")

// liveness sends pings while a read of a WebSocket waits. It looks at reads only: if nobody
// reads from a stream, the pongs have not been read either.
type liveness struct {
	idleLimits
	ping func()
	dead func() // frees whoever waits

	callbacks sync.WaitGroup

	mu      sync.Mutex
	timer   *time.Timer
	due     time.Time // when to ping or give up; zero while no read waits
	pinged  bool      // a ping was sent, and at due the connection is given up
	running bool      // the timer will call fire
	stopped bool
}

func newLiveness(s idleLimits, dead func()) *liveness {
	return &liveness{idleLimits: s, dead: dead}
}

// begin says that a read begins, and end that it has ended. As a rule neither sets the
// timer: the timer fires at its own pace, and then looks whether something is due.
func (l *liveness) begin() {
	if l.idle == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due, l.pinged = time.Now().Add(l.idle), false
	if !l.running && !l.stopped {
		l.set(l.idle)
	}
}

func (l *liveness) end() {
	if l.idle == 0 {
		return
	}
	l.mu.Lock()
	l.due = time.Time{}
	l.mu.Unlock()
}

// set needs mu.
func (l *liveness) set(d time.Duration) {
	l.running = true
	l.callbacks.Add(1)
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.fire)
	} else {
		l.timer.Reset(d)
	}
}

// fire runs on a goroutine of the timer.
func (l *liveness) fire() {
	defer l.callbacks.Done()
	l.mu.Lock()
	l.running = false
	now := time.Now()
	switch {
	case l.stopped, l.due.IsZero():
		l.mu.Unlock() // the next read sets the timer again
	case now.Before(l.due):
		l.set(l.due.Sub(now))
		l.mu.Unlock()
	case l.pinged:
		l.mu.Unlock()
		l.dead()
	default:
		// The ping itself may wait, for a connection that takes nothing more.
		l.due, l.pinged = now.Add(l.answer), true
		l.set(l.answer)
		l.mu.Unlock()
		l.ping()
	}
}

// bound ends a write that takes longer than the answer to a ping may. The write calls done
// when it is over.
func (l *liveness) bound() (done func()) {
	if l.answer == 0 {
		return func() {}
	}
	timer := time.AfterFunc(l.answer, l.dead)
	return func() { timer.Stop() }
}

// stop sends no more pings. Once the connection is closed, wait waits for a ping that is
// being written.
func (l *liveness) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.running && l.timer.Stop() {
		l.running = false
		l.callbacks.Done()
	}
}

func (l *liveness) wait() { l.callbacks.Wait() }
