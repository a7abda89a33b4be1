package record

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// conversation is what was seen, in the order in which it was asked for.
type conversation struct {
	about     about
	exchanges []*exchange
	length    time.Duration // when the client was stopped
	scrubbed  bool
}

// about is what was asked for.
type about struct {
	path, kind          string
	resource, namespace string // as path names them
	labels, fields      string
	pageSize            int
}

// step is a request, or something that happened to one.
type step struct {
	at   time.Duration
	of   *exchange
	what said // nil for the request
	nth  int  // of the exchange's items
}

// steps are those of a conversation, in the order of time.
func (c *conversation) steps() []step {
	var steps []step
	for _, x := range c.exchanges {
		steps = append(steps, step{at: x.asked, of: x})
		for nth, i := range x.items {
			if i.what != said(finished) {
				steps = append(steps, step{at: i.at, of: x, what: i.what, nth: nth})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps
}

// exchange is one request, and what came of it.
type exchange struct {
	target string // path?query, as a trace has it
	asked  time.Duration
	fresh  bool // the first request of its connection
	items  []item
	over   bool // nothing comes any more
}

// item is one thing that happened to a request.
type item struct {
	at   time.Duration
	what said
}

// said is what an item can be.
type said interface {
	// lines are those of a trace; none if nobody says anything.
	lines() []string
}

// refused reports whether there was no server to ask.
func (x *exchange) refused() bool {
	return len(x.items) == 1 && x.items[0].what == said(refused)
}

// log is a conversation that goes on. Its methods may be called by several
// goroutines.
type log struct {
	began time.Time
	news  chan struct{} // holds a token when something was added

	mu        sync.Mutex
	exchanges []*exchange
	lines     []string      // that nobody has been told of yet
	changed   chan struct{} // closed, and replaced, when an exchange is over
}

func newLog() *log {
	return &log{began: time.Now(), news: make(chan struct{}, 1), changed: make(chan struct{})}
}

// ask begins an exchange.
func (l *log) ask(target string, fresh bool) *exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &exchange{target: target, asked: time.Since(l.began), fresh: fresh}
	l.exchanges = append(l.exchanges, x)
	l.tell("> GET " + target)
	return x
}

// add notes what happens now.
func (l *log) add(x *exchange, what said) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.over {
		return // it was hung up before
	}
	x.items = append(x.items, item{at: time.Since(l.began), what: what})
	if _, ok := what.(ending); ok {
		x.over = true
		close(l.changed)
		l.changed = make(chan struct{})
	}
	if what == said(hungUp) {
		l.tell(string(hungUp))
	}
	l.tell(what.lines()...)
}

// tell needs mu.
func (l *log) tell(lines ...string) {
	l.lines = append(l.lines, lines...)
	select {
	case l.news <- struct{}{}:
	default: // it is known already
	}
}

// take returns the lines that were added since the last time.
func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// turn waits until x is the newest exchange that is not over: a trace can answer
// no other. It returns false if quit is closed before.
func (l *log) turn(x *exchange, quit <-chan struct{}) bool {
	for {
		l.mu.Lock()
		newest, changed := l.newest(), l.changed
		l.mu.Unlock()
		if newest == x {
			return true
		}
		select {
		case <-changed:
		case <-quit:
			return false
		}
	}
}

// newest needs mu.
func (l *log) newest() *exchange {
	for i := len(l.exchanges) - 1; i >= 0; i-- {
		if !l.exchanges[i].over {
			return l.exchanges[i]
		}
	}
	return nil
}

// stop returns what was seen until now.
func (l *log) stop() *conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &conversation{length: time.Since(l.began)}
	for _, x := range l.exchanges {
		seen := *x
		seen.items = append([]item(nil), x.items...)
		c.exchanges = append(c.exchanges, &seen)
	}
	return c
}
