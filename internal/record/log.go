package record

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/visible"
)

// conversation holds the recorded exchanges, in the order of their requests.
type conversation struct {
	about     about
	exchanges []*exchange
	length    time.Duration // when the client was stopped
	unsynced  error         // why the client had not synced then; nil if it had
	scrubbed  bool
}

// about says which objects the client asked for.
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

// steps returns the steps of a conversation in the order of their times.
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

// exchange is one request, and everything that happened to it.
type exchange struct {
	target string // path?query, as a trace has it
	asked  time.Duration
	fresh  bool // the first request of its connection
	items  []item
	over   bool // nothing more can come
}

// item is one thing that happened to a request.
type item struct {
	at   time.Duration
	what said
}

// said is implemented by every kind of item.
type said interface {
	// lines returns the lines for a trace, or none if the item needs no line.
	lines() []string
}

func (x *exchange) refused() bool {
	return len(x.items) == 1 && x.items[0].what == said(refused)
}

// log records a conversation. Several goroutines may call its methods.
type log struct {
	began time.Time
	news  chan struct{} // holds a token when something was added

	mu        sync.Mutex
	exchanges []*exchange
	lines     []string      // that take has not returned yet
	changed   chan struct{} // closed, and replaced, when an exchange is over
	last      error         // the last problem of the client
	away      error         // why the last request did not reach the server; the client learns only that its connection has ended
}

// problem takes a problem of the client. It is not an item, because the replay reports it, too.
func (l *log) problem(class, key string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = cmp.Or(l.away, err)
	l.away = nil
	l.tell(problemLine(class, key) + ": " + visible.OneLine(l.last.Error()))
}

// unreachable takes the error of a request that got no answer.
func (l *log) unreachable(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = err
}

// problemLine returns the line that a trace has for a problem.
func problemLine(class, key string) string {
	return strings.TrimSuffix("! "+class+" "+key, " ")
}

func (l *log) lastProblem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.last, errors.New("the list has not come"))
}

func (l *log) ask(target string, fresh bool) *exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &exchange{target: target, asked: time.Since(l.began), fresh: fresh}
	l.exchanges = append(l.exchanges, x)
	l.tell("> GET " + target)
	return x
}

// add records an item with the present time.
func (l *log) add(x *exchange, what said) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.over {
		return // the exchange has ended before
	}
	x.items = append(x.items, item{at: time.Since(l.began), what: what})
	if _, ends := what.(ending); ends {
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

// turn waits until x is the newest exchange that is not over, because a trace
// can only answer the newest request. It returns false if quit is closed first.
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

// stop returns the conversation up to now.
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
