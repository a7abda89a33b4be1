package protocol

import "time"

// health remembers when requests started to fail. The machine only reports that: [Status] has the
// time since which no watch has been open, [Backoff] reports the start of an outage, and
// [Recovered] reports its end.
type health struct {
	// failing is when requests began to fail: no watch has been open since. While a watch is open,
	// it is zero.
	failing time.Time

	// failingBefore is the value that failing had before the last watch was accepted. If the watch
	// fails soon, failing gets that value back: some servers accept a watch, and then say that the
	// version is gone. It is zero once the watch has brought something.
	failingBefore time.Time

	opened time.Time // when the server accepted the last watch; zero once that watch is healthy

	outage outage // since is zero if there is none
	last   outage // the outage that the last watch has ended; zero once that watch is healthy
}

// outage is a time in which requests fail.
type outage struct {
	since    time.Time // the first delay
	delays   int
	told     [reasonsEnd]bool
	relapsed bool // it was taken to be over, and was not
	listed   bool // a list has come since, so the server has the version that the next watch begins at
}

func (o *outage) on() bool { return !o.since.IsZero() }

// A single short watch is no outage: an API server that shuts down ends its streams, and the next
// one works. The third delay without a healthy watch begins an outage.
const manyDelays = 3

// fail notes and reports that a request, or the sink, has failed. If the server ends a watch
// cleanly, that is no failure.
func (m *Machine) fail(now time.Time, failure Failure) {
	if failure.Reason == Closed {
		return
	}
	h := &m.health
	if h.failing.IsZero() {
		h.failing = now
		if !h.failingBefore.IsZero() && now.Sub(h.opened) < healthy {
			h.failing = h.failingBefore
		}
		h.failingBefore = time.Time{}
	}
	m.emit(Failing{failure.Err})
}

// watchAccepted ends an outage, unless the watch may still fail. It may if no list has come since
// the outage began, because the server may then say that the version is gone. It also may if an
// earlier watch seemed to end this outage, and failed.
func (m *Machine) watchAccepted(now time.Time) {
	h := &m.health
	h.opened = now
	if !h.failing.IsZero() {
		h.failing, h.failingBefore = time.Time{}, h.failing
	}
	if h.outage.on() && h.outage.listed && !h.outage.relapsed {
		m.recovered(now)
	}
}

// watchBrought notes that a watch has brought something.
func (m *Machine) watchBrought(now time.Time) {
	m.health.failingBefore = time.Time{}
	m.watchLives(now, true)
}

// watchLives is called when a watch has brought something, and at its end.
func (m *Machine) watchLives(now time.Time, brought bool) {
	h := &m.health
	if h.opened.IsZero() {
		return
	}
	isHealthy := now.Sub(h.opened) >= healthy
	switch {
	case !h.outage.on():
	case h.outage.relapsed && isHealthy:
		m.recovered(now)
	case !h.outage.relapsed && (isHealthy || brought):
		m.recovered(h.opened)
	}
	if isHealthy {
		h.last, h.opened = outage{}, time.Time{}
	}
}

func (m *Machine) recovered(at time.Time) {
	h := &m.health
	m.emit(Recovered{After: at.Sub(h.outage.since), Delays: h.outage.delays})
	h.last, h.outage = h.outage, outage{}
}

// backoffNews notes a delay, and returns what it says about an outage, and how long that has
// lasted.
func (m *Machine) backoffNews(now time.Time, reason Reason) (news News, lasted time.Duration) {
	h := &m.health
	if !m.meansOutage(reason) {
		return NoNews, 0
	}
	m.backoff.afterOutage = true // for a list that follows a 410, see relist
	switch {
	case h.outage.on():
		if !h.outage.told[reason] {
			news = StillFails
		}
	case h.relapses():
		news, h.outage = FailsAgain, h.last
		h.outage.relapsed = true
	default:
		news, h.outage = Fails, outage{since: now}
	}
	h.last = outage{}
	h.outage.delays++
	h.outage.told[reason] = true
	return news, now.Sub(h.outage.since)
}

// streams reports whether the server has accepted the watch that has just ended.
func (m *Machine) streams() bool {
	switch p := m.phase.(type) {
	case *watching:
		return p.open
	case *streaming:
		return p.open
	}
	return false
}

// relapses reports whether the watch that ended the last outage has failed.
func (h *health) relapses() bool { return h.last.on() && !h.opened.IsZero() }

// meansOutage reports whether a delay for this reason means that something is wrong.
func (m *Machine) meansOutage(reason Reason) bool {
	switch reasons[reason].means {
	case ifNotWatching:
		_, watched := m.phase.(*watching)
		return !watched
	case ifRepeated:
		return !m.streams() || m.backoff.answeredStep >= manyDelays || m.health.outage.on() || m.health.relapses()
	case usual:
		return false
	case wrong:
	}
	return true
}
