package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/trace"
)

// composer replays a conversation to a second client, in virtual time.
type composer struct {
	*trace.Composer
	live *conversation

	asked   int       // how many of the live exchanges the replay has reached
	open    []*replay // the exchanges that have not ended, oldest first
	by      map[*exchange]*replay
	armed   bool // the next dial will be refused
	stopped bool
	reasons *explanations
}

// replay is an exchange in the replay.
type replay struct {
	*exchange
	at     time.Time // when the client sent the request
	said   int       // how many of its items have been sent
	closed bool      // by the client
}

func (c *conversation) compose(program trace.Program) ([]byte, error) {
	var diverged *DivergedError
	why := &explanations{last: map[string]string{}}
	text, err := trace.Compose(why.of(program), func(say *trace.Composer) error {
		r := &composer{Composer: say, live: c, by: map[*exchange]*replay{}, reasons: why}
		return r.all()
	})
	if err == nil {
		var f *trace.File
		if f, err = trace.Parse("trace", text); err == nil {
			_, err = trace.Replay(f, program, nil)
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

// end stops the client at the time at which the live client was stopped.
func (r *composer) end() error {
	for r.asked < len(r.live.exchanges) { // requests that were never answered
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

// step sends one item to the request that it was sent to, as soon as that request
// has come.
func (r *composer) step(s step) error {
	for r.by[s.of] == nil {
		if err := r.wait(); err != nil {
			return err
		}
	}
	x := r.by[s.of]
	switch {
	case s.nth < x.said, s.of.refused():
		return nil // it has been sent
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
		// In the live conversation, this came just before the client's next request.
		if err := r.answer(y); err != nil {
			return err
		}
	}
	if x.closed {
		return nil // the live client hung up later
	}
	return r.speak(x, s)
}

// answer sends all items that are left for a request.
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
	if isLast(s) {
		r.drop(x) // before the client reacts
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

// lastOf reports whether the client may send its next request after a step,
// because the step is the end of the exchange, or made the client close.
func (r *composer) lastOf(s step) bool {
	if isLast(s) {
		return true
	}
	return s.nth+2 == len(s.of.items) && s.of.items[s.nth+1].what == said(hungUp)
}

// arm makes the next connection fail, if the live conversation has a refused
// connection next.
func (r *composer) arm() error {
	if r.armed || r.asked == len(r.live.exchanges) || !r.live.exchanges[r.asked].refused() {
		return nil
	}
	r.armed = true
	return r.say(string(refused))
}

// untilClosed waits until the client closes the connection, as the live client did.
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
	came, err := r.stimulate("wait")
	if err == nil && len(came) == 0 {
		err = &DivergedError{Live: r.next()}
	}
	if err == nil {
		err = r.observe(came, began)
	}
	return err
}

// next returns what the live client did next.
func (r *composer) next() string {
	if r.asked == len(r.live.exchanges) {
		return ""
	}
	if x := r.live.exchanges[r.asked]; !x.refused() {
		return "> GET " + x.target
	}
	return "> refused"
}

// quiet is a pause after which a consumer has processed its entries.
const quiet = time.Second

// sleepUntil sleeps until as much time has passed since the request of x as in
// the live conversation.
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
	return r.say("sleep " + target.Duration(d))
}

// round makes times readable. It never rounds up to one second or ten seconds,
// because the reflector's decisions depend on whether a watch has lived that
// long. It rounds less than a tenth of a second to zero, because that was the
// network.
func round(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Truncate(100 * time.Millisecond)
	}
	return d.Truncate(time.Second)
}

// pop empties the queue.
func (r *composer) pop() error {
	n := r.Queued()
	if n == 0 {
		return nil
	}
	return r.say(fmt.Sprintf("pop %d", n))
}

// say plays lines, and records what the client does after them.
func (r *composer) say(lines ...string) error {
	began := time.Now()
	came, err := r.stimulate(lines...)
	if err != nil {
		return err
	}
	return r.observe(came, began)
}

// stimulate plays lines, returns what the client does after them, and writes comments that say what
// its problems are.
func (r *composer) stimulate(lines ...string) ([]string, error) {
	came, err := r.Say(lines...)
	if err != nil {
		return came, err
	}
	for _, comment := range r.reasons.take() {
		if _, err := r.Say(comment); err != nil {
			return came, err
		}
	}
	return came, nil
}

// observe compares what the client did since a time with what the live client
// did.
func (r *composer) observe(came []string, at time.Time) error {
	for _, line := range came {
		if d, ok := strings.CutPrefix(line, "~ "); ok {
			passed, err := time.ParseDuration(d)
			if err != nil {
				return err
			}
			at = at.Add(passed)
		}
		if err := r.saw(line, at); err != nil {
			return err
		}
	}
	return nil
}

func (r *composer) saw(line string, at time.Time) error {
	switch {
	case r.stopped:
		return nil
	case line == "> close":
		if x := r.newest(); x != nil {
			x.closed = true
			r.drop(x)
		}
		return nil
	case line != "> refused" && !strings.HasPrefix(line, "> GET "):
		return nil
	}
	if line != r.next() {
		if r.next() == "" && r.done() {
			return nil // the live client was stopped before it could do this
		}
		return &DivergedError{Live: r.next(), Replay: line}
	}
	x := &replay{exchange: r.live.exchanges[r.asked], at: at}
	r.asked++
	r.by[x.exchange] = x
	if line == "> refused" {
		r.armed = false
		return nil
	}
	r.open = append(r.open, x)
	return nil
}

// done reports whether all items of the live conversation have been sent.
func (r *composer) done() bool {
	return !slices.ContainsFunc(r.open, func(x *replay) bool {
		return len(x.items) > 0 && x.items[len(x.items)-1].what == said(hungUp)
	})
}

// newest returns the request that gets the next line of the server.
func (r *composer) newest() *replay {
	if len(r.open) == 0 {
		return nil
	}
	return r.open[len(r.open)-1]
}

// drop removes a request that is over.
func (r *composer) drop(x *replay) {
	r.open = slices.DeleteFunc(r.open, func(open *replay) bool { return open == x })
}
