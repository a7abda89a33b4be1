package record

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/trace"
)

// composer says a conversation again, to a second client and in virtual time.
type composer struct {
	*trace.Composer
	live *conversation

	asked   int       // how many of the live exchanges the replay has come to
	open    []*replay // those of them that go on, oldest first
	by      map[*exchange]*replay
	armed   bool // the next dial will be refused
	stopped bool
	queue   queue
}

// replay is an exchange in the replay.
type replay struct {
	*exchange
	at     time.Time // when it was asked for
	said   int       // how many of its items have been said
	closed bool      // by the client
}

// compose returns the trace.
func (c *conversation) compose(program trace.Program) ([]byte, error) {
	var diverged *DivergedError
	text, err := trace.Compose(program, func(say *trace.Composer) error {
		r := &composer{Composer: say, live: c, by: map[*exchange]*replay{}, queue: newQueue()}
		return r.all()
	})
	if err == nil {
		var f *trace.File
		if f, err = trace.Parse("trace", text); err == nil {
			err = trace.Check(f, program)
		}
	}
	switch {
	case errors.As(err, &diverged):
		return nil, diverged
	case err != nil:
		return nil, &DivergedError{Err: err}
	}
	return text, nil
}

func (r *composer) all() error {
	if _, err := r.Say(append(r.live.header(), "")...); err != nil {
		return err
	}
	if err := r.arm(); err != nil {
		return err
	}
	if err := r.say(r.live.about.start()); err != nil {
		return err
	}
	for _, s := range r.live.steps() {
		if s.what == nil {
			continue
		}
		if err := r.step(s); err != nil {
			return err
		}
	}
	return r.end()
}

// end stops the client when it was stopped.
func (r *composer) end() error {
	for r.asked < len(r.live.exchanges) { // what was asked and never answered
		if err := r.wait(); err != nil {
			return err
		}
	}
	if x := r.newest(); x != nil {
		if err := r.sleepUntil(x, r.live.length); err != nil {
			return err
		}
	}
	if err := r.pop(); err != nil {
		return err
	}
	r.stopped = true
	return r.say("stop")
}

// step says one thing to the request that it was said to, once there is that
// request.
func (r *composer) step(s step) error {
	for r.by[s.of] == nil {
		if err := r.wait(); err != nil {
			return err
		}
	}
	x := r.by[s.of]
	switch {
	case s.nth < x.said, s.of.refused():
		return nil // it has been said
	case s.what == said(hungUp):
		return r.untilClosed(x)
	case x.closed:
		return &DivergedError{Live: strings.Join(s.what.lines(), " "), Replay: string(hungUp)}
	}
	if x.said == 0 {
		if _, err := r.Say(""); err != nil {
			return err
		}
	}
	if err := r.sleepUntil(x, s.at); err != nil {
		return err
	}
	for y := r.newest(); y != x && y != nil; y = r.newest() {
		// Live, this came just before the client asked for something more.
		if err := r.answer(y); err != nil {
			return err
		}
	}
	if x.closed {
		return nil // it took its time to hang up
	}
	return r.speak(x, s)
}

// answer says all that a request is still to be told.
func (r *composer) answer(x *replay) error {
	if n := len(x.items); n == 0 || x.items[n-1].what == said(hungUp) {
		return &DivergedError{Replay: "> GET " + x.target}
	}
	for nth := x.said; nth < len(x.items); nth++ {
		i := x.items[nth]
		if i.what == said(finished) {
			break
		}
		if err := r.step(step{at: i.at, of: x.exchange, what: i.what, nth: nth}); err != nil {
			return err
		}
	}
	return nil
}

func (r *composer) speak(x *replay, s step) error {
	if r.lastOf(s) {
		if err := r.arm(); err != nil {
			return err
		}
	}
	x.said = s.nth + 1
	r.queue.said(x.target, s.what)
	if isLast(s) {
		r.drop(x) // before what comes of it
	}
	return r.say(s.what.lines()...)
}

// isLast reports whether a step is the end of its exchange.
func isLast(s step) bool {
	switch what := s.what.(type) {
	case ending, *list, *whole:
		return true
	case *status:
		return !what.event
	}
	return false
}

// lastOf reports whether the client may go on to its next request after a step: it
// is the end, or what made the client hang up.
func (r *composer) lastOf(s step) bool {
	if isLast(s) {
		return true
	}
	return s.nth+2 == len(s.of.items) && s.of.items[s.nth+1].what == said(hungUp)
}

// arm has the next connection refused, if that is what comes next.
func (r *composer) arm() error {
	if r.armed || r.asked == len(r.live.exchanges) || !r.live.exchanges[r.asked].refused() {
		return nil
	}
	r.armed = true
	return r.say(string(refused))
}

// untilClosed waits until the client hangs up, as it did.
func (r *composer) untilClosed(x *replay) error {
	for !x.closed {
		if err := r.wait(); err != nil {
			return err
		}
	}
	return nil
}

// wait lets time pass until the client does something.
func (r *composer) wait() error {
	if err := r.pop(); err != nil {
		return err
	}
	if err := r.arm(); err != nil {
		return err
	}
	began := time.Now()
	came, err := r.Say("wait")
	if err == nil && len(came) == 0 {
		err = &DivergedError{Live: r.next()}
	}
	if err == nil {
		err = r.observe(came, began)
	}
	return err
}

// next is what the live client did next.
func (r *composer) next() string {
	if r.asked == len(r.live.exchanges) {
		return ""
	}
	if x := r.live.exchanges[r.asked]; !x.refused() {
		return "> GET " + x.target
	}
	return "> refused"
}

// quiet is a pause in which a consumer has come to its entries.
const quiet = time.Second

// sleepUntil lets as much time pass as had passed since x was asked for.
func (r *composer) sleepUntil(x *replay, at time.Duration) error {
	d := time.Until(x.at.Add(round(at - x.asked)))
	if d <= 0 {
		return nil
	}
	if d >= quiet {
		if err := r.pop(); err != nil {
			return err
		}
	}
	return r.say("sleep " + formatDuration(d))
}

// round makes times readable, and makes none of them pass a second or ten: at
// those lives of a watch the reflector decides. What took less than a tenth of a
// second was the network.
func round(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Truncate(100 * time.Millisecond)
	}
	return d.Truncate(time.Second)
}

func formatDuration(d time.Duration) string {
	text := d.String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

// pop empties the queue.
func (r *composer) pop() error {
	n := r.queue.take()
	if n == 0 {
		return nil
	}
	return r.say(fmt.Sprintf("pop %d", n))
}

// say says lines, and takes note of what comes of them.
func (r *composer) say(lines ...string) error {
	began := time.Now()
	came, err := r.Say(lines...)
	if err != nil {
		return err
	}
	return r.observe(came, began)
}
