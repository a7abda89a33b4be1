package protocol

import "time"

// pauses limits how often requests are sent, whatever the reason for the next one: opens are counted, not errors. A stream
// that delivers one event and dies is as expensive as one that fails.
type pauses struct {
	// answered and unreachable are the places on the two curves of pauses.
	answered, unreachable int

	// outage: the server could not be reached, or something stood in for it, since a list was last applied or a watch was
	// healthy.
	outage bool

	// reconnected is set once a short stream was opened again at once. The first one after a healthy stream costs nothing;
	// the next waits.
	reconnected bool

	// failures counts watches in a row that failed without an event, and empties those that ended at once without one.
	failures, empties int

	// watches and lists are when the buckets of tokens for watches, and for lists and asks, will be full again.
	watches, lists time.Time
}

const (
	// healthy is the life of a stream after which the pace starts afresh.
	healthy = 10 * time.Second

	// short is the life below which a stream without an event counts as refused. Servers that keep no window for a resource
	// answer an old resourceVersion so: https://github.com/kubernetes/kubernetes/issues/104171.
	short = time.Second

	// maxFailures in a row without progress make the machine list again. It is kept above one because a list costs the
	// server far more than a watch. maxEmpties streams in a row that ended at once without an event do the same.
	maxFailures = 3
	maxEmpties  = 2

	// maxRetryAfter is the longest that a server can keep a reflector away. More is taken for a mistake: nobody wants a
	// copy that is hours old.
	maxRetryAfter = time.Hour

	// spread is the time over which the lists of a fleet are spread after an outage of their server, with the usual Base.
	spread = 7 * time.Second

	// burst watches may follow each other without a pause, and one more for each refill: 24 in any minute, whatever the
	// causes are. The same holds for lists and asks together. This too is meant for the usual Base.
	burst  = 6
	refill = (10*time.Second + 2) / 3 // rounded up
)

// The curves of pauses, in units of [Rules.Base], which is 800 ms by default. Each pause is drawn from [b, 2b).
//
// A connection that is refused costs the server nothing, so it is tried every 2.5 to 5 s however long an outage lasts. An
// answer of any kind costs it something. Three quick tries get over what passes by itself; then the pauses grow up to
// [Rules.Cap], so that a server that is in trouble is left alone.
// Base and cap: https://github.com/kubernetes/kubernetes/pull/87795.
var (
	unreachablePauses = []float64{1, 2, 3.125}
	answeredPauses    = []float64{1, 1, 1, 1.5, 5, 5, 10, 20, 37.5}
)

// becomeWaiting pauses after a failure, and then goes on.
func (m *Machine) becomeWaiting(now time.Time, then next, failure Failure) {
	delay := m.pauses.next(&m.rules, then, failure)
	delay = max(delay, m.pauses.until(m.rules, then, now))
	m.waitUntil(now.Add(delay), then)
	m.emit(Backoff{Delay: delay, Reason: failure.Reason, Err: failure.Err})
}

// waitUntil asks for nothing until a time has come, and then goes on; at the next Tick if the time is zero.
func (m *Machine) waitUntil(at time.Time, then next) { m.phase = &waiting{until: at, then: then} }

// after settles accounts with a watch that is over: a long life makes good for everything, and an event for the failures
// before it.
func (p *pauses) after(w *watching, now time.Time) {
	if w.open && w.lasted(now) {
		*p = pauses{watches: p.watches, lists: p.lists}
	}
	if w.progress {
		p.failures, p.empties = 0, 0
	}
}

// listed settles accounts with a list that was applied.
func (p *pauses) listed() { p.failures, p.outage = 0, false }

// next returns the pause before the next request, and moves along the curve. What the server asks for by Retry-After is the
// least that is waited; jitter comes on top of it, so that clients told the same do not come back together.
func (p *pauses) next(r *Rules, then next, failure Failure) time.Duration {
	step, curve := &p.answered, answeredPauses
	switch failure.Reason {
	case Unreachable:
		step, curve = &p.unreachable, unreachablePauses
		p.outage = true
	case Unavailable:
		p.outage = true
	case Expired:
		if p.outage && then == toList && r.Base > 0 {
			return r.jitter(r.scaled(spread))
		}
	default:
	}
	b := min(time.Duration(curve[min(*step, len(curve)-1)]*float64(r.Base)), r.Cap)
	last := *step >= len(curve)-1
	*step++
	floor := max(b, min(failure.RetryAfter, maxRetryAfter))
	if failure.Reason == Unreachable && then == toList && last && r.Base > 0 {
		return floor + r.jitter(max(b, r.scaled(spread))) // a fleet that has nothing yet lists when its server is there
	}
	return floor + r.jitter(b)
}

// bucket is the one that requests of a kind take their tokens from.
func (p *pauses) bucket(kind next) *time.Time {
	if kind == toWatch {
		return &p.watches
	}
	return &p.lists
}

// take takes a token for a request.
func (p *pauses) take(r Rules, kind next, now time.Time) {
	if full := p.bucket(kind); r.Base > 0 {
		*full = latest(*full, now).Add(r.scaled(refill))
	}
}

// until returns how long a request has to wait for a token. Without pauses there is always one.
func (p *pauses) until(r Rules, kind next, now time.Time) time.Duration {
	full := *p.bucket(kind)
	if r.Base == 0 || !now.Before(full) {
		return 0
	}
	return max(full.Sub(now)-(burst-1)*r.scaled(refill), 0)
}

// credit gives back the tokens of a list and of the watch after it, for a list that the program asked for.
func (p *pauses) credit(r *Rules) {
	if r.Base > 0 {
		p.watches, p.lists = p.watches.Add(-r.scaled(refill)), p.lists.Add(-r.scaled(refill))
	}
}
