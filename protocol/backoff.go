package protocol

import "time"

// backoff limits how often requests are sent. It counts requests and not errors, because a stream
// that delivers one event and dies costs the server as much as one that fails.
type backoff struct {
	// answeredStep and unreachableStep are the places on the two backoff schedules.
	answeredStep, unreachableStep int

	// afterOutage: there was a delay that means an outage, see [Machine.meansOutage]. It ends when
	// a list is applied, or when a watch has been healthy.
	afterOutage bool

	// reopenedAtOnce: a watch brought something and ended soon, and the machine opened the next one
	// without a delay. The machine does that once. After each further short watch, it waits before
	// it opens the next one, until a watch has been healthy.
	reopenedAtOnce bool

	// failures counts requests in a row that failed, and emptyWatches counts watches in a row that
	// ended immediately without an event.
	failures, emptyWatches int

	// There are two buckets of tokens, one for watches, and one for lists of every kind. These are
	// the times when they are full.
	watchesFullAt, listsFullAt time.Time
}

const (
	// healthy: a watch that lives for this time resets the delays.
	healthy = 10 * time.Second

	// short: a stream that ends within this time and without an event counts as refused. Servers
	// that remember no events of a resource answer an old resourceVersion like this:
	// https://github.com/kubernetes/kubernetes/issues/104171.
	short = time.Second

	// After maxFailures failures in a row, or maxEmpties watches in a row that ended immediately
	// without an event, the machine lists. Both are above one, because a list costs the server far
	// more than a watch.
	maxFailures = 3
	maxEmpties  = 2

	// maxRetryAfter is the longest Retry-After that the machine obeys. The machine treats a longer
	// one as a mistake, because the copy would be hours old.
	maxRetryAfter = time.Hour

	// spread: after an outage of a server, many clients list, and they spread their lists over this
	// time. It is scaled by Base, see [Rules.scaled].
	spread = 7 * time.Second

	// A bucket holds burst tokens, and gets a new one after each refill. So there are no more than
	// 24 watches in any minute, whatever their causes, and no more than 24 lists, refetches and
	// lists of verifications. The further pages of a list take no token. A call of Relist brings
	// its own, see [backoff.credit]. refill is scaled by Base, see [Rules.scaled].
	burst  = 6
	refill = (10*time.Second + 2) / 3 // rounded up
)

// The backoff schedules, in units of [Rules.Base], which is 800 ms by default. Each delay is drawn
// from [b, 2b).
//
// A connection that is refused costs the server nothing, so the machine tries every 2.5 to 5 s,
// however long an outage lasts. An answer of any kind costs the server something. Three quick tries
// are enough for most troubles that pass by themselves; after those, the delays grow up to
// [Rules.Cap], so that a server in trouble is left alone. Base and cap:
// https://github.com/kubernetes/kubernetes/pull/87795.
var (
	unreachableDelays = []float64{1, 2, 3.125}
	answeredDelays    = []float64{1, 1, 1, 1.5, 5, 5, 10, 20, 37.5}
)

// becomeWaiting backs off after a failure, and then continues.
func (m *Machine) becomeWaiting(now time.Time, then next, failure Failure) {
	m.backOff(now, m.backoff.delay(m.rules, then, failure), then, failure)
}

// backOff sends nothing until a delay has passed and there is a token for the next request.
func (m *Machine) backOff(now time.Time, delay time.Duration, then next, failure Failure) {
	delay = max(delay, m.backoff.until(m.rules, then, now))
	news, outage := m.backoffNews(now, failure.Reason)
	m.waitUntil(now.Add(delay), then)
	m.emit(Backoff{Delay: delay, Reason: failure.Reason, Err: failure.Err, News: news, Outage: outage})
}

// waitUntil asks for nothing until a time has come, and then continues. If the time is zero, the
// machine continues at the next Tick.
func (m *Machine) waitUntil(at time.Time, then next) { m.phase = &waiting{until: at, then: then} }

// after takes the end of a watch. If the watch was healthy, all delays begin again. If the watch
// brought something, the failures before it no longer count.
func (b *backoff) after(w *watching, now time.Time) {
	if w.open && w.lasted(now) {
		*b = backoff{watchesFullAt: b.watchesFullAt, listsFullAt: b.listsFullAt}
	}
	if w.progress {
		b.failures, b.emptyWatches = 0, 0
	}
}

// listed records that a list was applied: the failures before it no longer count.
func (b *backoff) listed() { b.failures, b.afterOutage = 0, false }

// delay returns the delay before the next request, and moves along the schedule. The delay is never
// shorter than the server's Retry-After. Jitter is added to that, so that clients with the same
// Retry-After do not come back together.
func (b *backoff) delay(r *Rules, then next, failure Failure) time.Duration {
	step, schedule := &b.answeredStep, answeredDelays
	if failure.Reason == Unreachable {
		step, schedule = &b.unreachableStep, unreachableDelays
	}
	base := min(time.Duration(schedule[min(*step, len(schedule)-1)]*float64(r.Base)), r.Cap)
	last := *step >= len(schedule)-1
	*step++
	floor := max(base, failure.retryAfter())
	if failure.Reason == Unreachable && then == toList && last {
		// When the server is back, each client without a copy sends a list. The jitter spreads
		// these lists.
		return floor + r.jitter(max(base, r.scaled(spread)))
	}
	return floor + r.jitter(base)
}

// bucket returns the bucket from which requests of a kind take their tokens.
func (b *backoff) bucket(kind next) *time.Time {
	if kind == toWatch {
		return &b.watchesFullAt
	}
	return &b.listsFullAt
}

// take takes a token for a request.
func (b *backoff) take(r *Rules, kind next, now time.Time) {
	full := b.bucket(kind)
	*full = latest(*full, now).Add(r.scaled(refill))
}

// nextToken returns when there is a token for a request.
func (b *backoff) nextToken(r *Rules, kind next) time.Time {
	return b.bucket(kind).Add(-(burst - 1) * r.scaled(refill))
}

// until returns how long a request has to wait for a token.
func (b *backoff) until(r *Rules, kind next, now time.Time) time.Duration {
	return max(b.nextToken(r, kind).Sub(now), 0)
}

// credit puts a token back into each bucket, for a list that the program asked for and for the
// watch after it.
func (b *backoff) credit(r *Rules) {
	b.watchesFullAt, b.listsFullAt = b.watchesFullAt.Add(-r.scaled(refill)), b.listsFullAt.Add(-r.scaled(refill))
}
