package transport

import (
	"errors"
	"sync"
	"time"
)

// errNoPong is what a WebSocket ends with whose other end is gone without a word. It
// is not io.EOF, and not the caller's doing.
var errNoPong = errors.New("the connection is dead: no answer came to a ping (Config.PingTimeout)")

// liveness pings while a read waits in vain, as HTTP/2 does (see setPings): neither a
// server nor a proxy that is gone without a word would end the read otherwise. It
// looks at reads only. A stream that nobody reads from has its pongs still to come.
type liveness struct {
	idle, answer time.Duration // 0 is off
	ping         func()
	dead         func() // frees whoever waits

	callbacks sync.WaitGroup

	mu      sync.Mutex
	timer   *time.Timer
	due     time.Time // when something happens; zero if nothing will
	pinged  bool      // and what happens is the end
	running bool      // the timer will call fire
	stopped bool
}

func newLiveness(idle, answer time.Duration, dead func()) *liveness {
	return &liveness{idle: idle, answer: answer, dead: dead}
}

// begin says that a read begins, and end that it has ended. Neither sets the timer as a
// rule: it comes at its own pace, and looks whether it is due.
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

// bound ends a write that waits for longer than the answer to a ping may take, unless
// it is over by then and has called done.
func (l *liveness) bound() (done func()) {
	if l.answer == 0 {
		return func() {}
	}
	timer := time.AfterFunc(l.answer, l.dead)
	return func() { timer.Stop() }
}

// stop ends it. A ping that is being written is waited for by wait, when the
// connection is closed.
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
