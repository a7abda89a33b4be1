package protocol

import "time"

// Time is abstracted: an armed timer may fire at any time, before all others or after them. So a
// state need not say when, only whether a timer is armed, and time stands still at [now]. After
// each step forget puts everything that is armed at the same time far away; to let one fire, it
// alone is set to now. What has happened is put at now, and how long it took is chosen when it
// matters: see the ends of watches in explore_moves_test.go.
//
// That adds runs which cannot happen (a timer of a second after one of an hour), and takes none
// away, so whatever holds in all states holds in those of the machine. The places on the backoff
// schedule are forgotten with the times; they are the subject of explore_pace_test.go.

const armed = 24 * time.Hour

func rearm(at *time.Time) {
	if !at.IsZero() {
		*at = now.Add(armed)
	}
}

func happened(at *time.Time) {
	if !at.IsZero() {
		*at = now
	}
}

// forget takes from the machine what does not matter to what it will do, but for the clock.
func (w *world) forget() {
	m := w.m
	m.out = m.out[:0]
	m.backoff = backoff{reopenedAtOnce: m.backoff.reopenedAtOnce, failures: min(m.backoff.failures, maxFailures), emptyWatches: m.backoff.emptyWatches}
	m.idle, m.health = idleLimits{}, health{}
	switch p := m.phase.(type) {
	case *waiting:
		p.until = now.Add(armed)
	case *listing:
		p.asked, p.heard = now, now
	case *streaming:
		p.asked, p.heard = now, now
		rearm(&p.deadline)
		happened(&p.otherEventAt)
	case *watching:
		p.asked, p.heard, p.idleLimit = now, now, armed
		rearm(&p.deadline)
		happened(&p.bookmark)
	}
	rearm(&m.lists.initialEventsUntil)
	rearm(&m.lists.listsUntil)
	q := &m.quarantine
	q.changes = 0
	rearm(&q.soonest)
	if len(q.entries) == 0 {
		q.soonest = time.Time{} // a Tick for nothing
	}
	for _, e := range q.entries {
		e.since, e.step, e.err, e.refetchErr = now, 0, errBad, nil
		rearm(&e.next)
	}
	rearm(&m.quarantine.noRefetchUntil)
	m.refetches.notBefore = time.Time{}   // a delay
	m.history.nextListCheck = time.Time{} // a delay
	if u := m.history.unverified; u != nil {
		u.failures = min(u.failures, 1) // a saved copy looks whether there was one
		rearm(&u.at)
		if p, ok := m.phase.(*watching); !ok || !p.open {
			u.at = time.Time{} // it is set when a watch opens
		}
	}
	if m.refetches.open != nil {
		m.refetches.open.heard = now
	}
	m.quarantine.repair.step, m.quarantine.repair.last = 0, time.Time{}
	rearm(&m.quarantine.repair.at)
	m.verify.heard = now
	rearm(&m.verify.next)
	rearm(&m.resyncAt)
}

// fire lets one timer fire. It reports whether that was armed, in the sense that the machine wants
// to be woken for it.
func (w *world) fire(set func(m *Machine)) bool {
	set(w.own())
	if at := w.m.Wake(); at.IsZero() || at.After(now) {
		return false
	}
	w.step(Tick{}, subject{})
	return true
}
