package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// pacer is one state of the search for requests that follow each other without a delay. It has the
// machine with its clock, and a server that has nothing and may answer in any way, at once. What
// matters is when the next request is sent.
type pacer struct {
	m       *Machine
	now     time.Time
	main    requestKind
	open    bool
	refetch bool

	// At this instant: requests, and times that the machine was woken.
	sent, woken int
	path        *line
}

// line is one step of a path.
type line struct {
	before *line
	what   string
}

func (l *line) String() string {
	var all []string
	for ; l != nil; l = l.before {
		all = append(all, l.what)
	}
	slices.Reverse(all)
	return strings.Join(all[max(0, len(all)-40):], "\n")
}

// Requests of one instant are limited by the two buckets: a full one has burst tokens. A machine
// that waits for nothing at the end of a cycle would send more, or be woken more often.
const (
	mostSent  = 2 * burst
	mostWoken = 2 * burst
)

// After every answer that a server can give, the machine comes to a wait that is longer than
// nothing.
func TestNoWaitOfZeroInACycle(t *testing.T) {
	most := 60_000
	if raceDetector {
		most = 6_000
	}
	for _, initial := range []InitialList{FromCache, Streaming} {
		rules := explorerRules(func(r *Rules) {
			r.Base, r.Cap, r.ResponseIdleTimeout, r.Initial = 800*time.Millisecond, 30*time.Second, time.Minute, initial
		})
		first := &pacer{m: New(rules), now: now}
		seen := map[string]bool{}
		stack := []*pacer{first} // depth first: what repeats itself shows after many steps
		for len(stack) > 0 && len(seen) < most {
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, next := range p.moves() {
				if next.sent > mostSent || next.woken > mostWoken {
					t.Fatalf("%d requests are sent, and the machine is woken %d times, at one instant:\n%s", next.sent, next.woken, next.path)
				}
				if text := next.encode(); !seen[text] {
					seen[text] = true
					stack = append(stack, next)
				}
			}
		}
		t.Logf("%d states", len(seen))
	}
}

// moves returns what may follow.
func (p *pacer) moves() (all []*pacer) {
	add := func(what string, after time.Duration, in Input) {
		next := *p
		next.m = p.m.clone()
		next.path = &line{p.path, what}
		if after > 0 {
			next.now, next.sent, next.woken = p.now.Add(after), 0, 0
		}
		switch in.(type) {
		case Listed, Ended:
			next.main, next.open = noRequest, false
		case Opened:
			next.open = true
		case Refetched:
			next.refetch = false
		case Tick:
			next.woken++
		}
		next.step(in)
		all = append(all, &next)
	}
	wake := p.m.Wake()
	if p.main == noRequest || !wake.IsZero() && p.open {
		add("the machine is woken", max(wake.Sub(p.now), 0), Tick{})
	}
	if p.refetch {
		add("the refetch fails", 0, Refetched{Failure: failureOf(Unreachable, 0)})
		add("the refetch is answered", 0, Refetched{Version: "101"})
	}
	failures := []Failure{
		failureOf(Unreachable, 0), failureOf(Unavailable, 503), failureOf(Throttled, 429), failureOf(Expired, 410), failureOf(TooLarge, 504),
		failureOf(Denied, 403), failureOf(Failed, 400), failureOf(Failed, 500), failureOf(Malformed, 0), failureOf(NotFound, 404),
	}
	switch {
	case p.main == listRequest:
		add("a list", 0, Listed{Sum: Sum{Version: "101"}})
		for _, f := range failures {
			add("the list fails: "+f.Reason.String(), 0, Listed{Failure: f})
		}
	case p.main == watchRequest && !p.open:
		add("the watch is open", 0, Opened{})
		for _, f := range failures {
			add("the watch fails: "+f.Reason.String(), 0, Ended{Failure: f})
		}
	case p.main == watchRequest:
		add("a bookmark", 0, &Seen{
			Type: object.Bookmark, Item: Item{Meta: object.Meta{ResourceVersion: "101"}}, EndsInitial: true, Sum: &Sum{Version: "101"},
		})
		for _, reason := range []Reason{Closed, ConnectionLost, Expired, Failed} {
			add("the watch ends: "+reason.String(), 0, Ended{Failure: failureOf(reason, 0)})
			if wake.IsZero() || wake.Sub(p.now) > healthy {
				add("the watch ends after 10 s: "+reason.String(), healthy, Ended{Failure: failureOf(reason, 0)})
			}
		}
	}
	return all
}

func (p *pacer) step(in Input) {
	for _, eff := range p.m.Step(p.now, in) {
		switch eff.(type) {
		case List:
			p.main, p.open = listRequest, false
			p.sent++
		case Watch:
			p.main, p.open = watchRequest, false
			p.sent++
		case Refetch:
			p.refetch = true
			p.sent++
		case CancelRefetch:
			p.refetch = false
		case Cancel:
			p.main, p.open = noRequest, false
		}
	}
}

// encode says all that decides what follows: everything that the machine remembers, with times
// relative to now.
func (p *pacer) encode() string {
	var b strings.Builder
	m := p.m
	ago := func(at time.Time) time.Duration { return min(p.now.Sub(at), healthy) }
	in := func(at time.Time) time.Duration {
		if at.IsZero() {
			return -1
		}
		return max(at.Sub(p.now), 0)
	}
	fmt.Fprint(&b, p.main, p.open, p.refetch, p.sent, p.woken, m.resume, m.mostRecentNext, m.distrusted, m.synced)
	switch phase := m.phase.(type) {
	case *waiting:
		fmt.Fprint(&b, " waiting ", in(phase.until), phase.then)
	case *listing:
		fmt.Fprint(&b, " listing ", phase.version, ago(phase.asked))
	case *streaming:
		fmt.Fprint(&b, " streaming ", phase.version, ago(phase.heard), phase.open, in(phase.otherEventAt))
	case *watching:
		fmt.Fprint(&b, " watching ", phase.version, ago(phase.asked), phase.open, phase.progress, phase.repeats.begun, phase.afterLongList)
	}
	u := m.backoff
	fmt.Fprint(&b, " ", min(u.answeredStep, len(answeredDelays)), min(u.unreachableStep, len(unreachableDelays)), u.afterOutage, u.reopenedAtOnce,
		min(u.failures, maxFailures), u.emptyWatches, in(m.history.nextListCheck), in(u.watchesFullAt), in(u.listsFullAt))
	l := m.lists
	fmt.Fprint(&b, " ", l.sameVersionListed, l.listsOutrunByWindow, in(l.initialEventsUntil), l.incompleteStreams, in(l.listsUntil), in(m.quarantine.noRefetchUntil))
	if u := m.history.unverified; u != nil {
		fmt.Fprint(&b, " ", in(u.at), len(u.questions), u.suspicion, u.behind, min(u.failures, 10))
	}
	return b.String()
}
