package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// margin: a watch may stay open for this time after its timeout. After that the machine takes the
// connection for dead. Without this timer, a half-open connection keeps a watch until the kernel
// gives up.
const margin = 10 * time.Second

var errTimedOut = errors.New("the server did not end the watch at its timeout")

// becomeWatching opens a stream at the resume version, or before the last events if the server is
// unverified. If there is no token for the request, it waits for one. While nothing changes,
// bookmarks keep the resume version among the versions that the server remembers. The timeout is
// spread evenly over [MinTimeout, 2 MinTimeout), so that the watches of many clients do not end
// together.
func (m *Machine) becomeWatching(now time.Time) {
	if wait := m.backoff.until(m.rules, toWatch, now); wait > 0 {
		m.waitUntil(now.Add(wait), toWatch)
		return
	}
	m.backoff.take(m.rules, toWatch, now)
	timeout := m.timeout()
	version, repeats := m.history.begin(m.resume)
	m.phase = &watching{
		version: version, repeats: repeats, asked: now, heard: now, timeout: timeout, deadline: deadline(now, timeout),
		idleLimit: m.idle.limit(m.rules),
	}
	m.emit(Watch{Version: version, Timeout: timeout})
}

// streamComplete turns a stream into a watch, because its initial events are complete.
func (m *Machine) streamComplete(now time.Time, p *streaming) {
	w := &watching{
		version: m.resume, asked: p.asked, heard: now, timeout: p.timeout, deadline: p.deadline,
		open: true, progress: true, bookmark: now,
	}
	m.phase = w
	m.watchAccepted(now)
	m.health.failingBefore = time.Time{}
	m.history.opened(now, false)
}

// timeout is how long the server is asked to keep a watch open; zero leaves it to the server.
func (m *Machine) timeout() time.Duration {
	if m.rules.MinTimeout == 0 {
		return 0
	}
	timeout := m.rules.MinTimeout + m.rules.jitter(m.rules.MinTimeout)
	return max(timeout.Truncate(time.Second), time.Second)
}

func deadline(now time.Time, timeout time.Duration) time.Time {
	if timeout == 0 {
		return time.Time{}
	}
	return now.Add(timeout + margin)
}

// opened takes the fact that the server has accepted a watch.
func (m *Machine) opened(now time.Time, reconnected bool) {
	switch p := m.phase.(type) {
	case *watching:
		p.open, p.heard = true, now
		m.watchAccepted(now)
		if reconnected {
			m.history.suspectList(m.resume)
		}
		m.history.opened(now, !m.synced && len(p.repeats.left) == 0)
	case *streaming:
		p.open, p.heard = true, now
	}
}

// ended takes the end of a watch.
func (m *Machine) ended(now time.Time, failure Failure) {
	switch p := m.phase.(type) {
	case *watching:
		m.watchEnded(now, p, failure)
	case *streaming:
		m.streamEnded(now, p, failure)
	}
}

// watchEnded decides what follows a watch. It is the next watch, or a list. The watch begins at the
// resume version, or up to four events before it. The machine does not give these events to the
// sink a second time.
func (m *Machine) watchEnded(now time.Time, p *watching, failure Failure) {
	m.fail(now, failure)
	m.watchOver(now, p)
	if m.history.mayBeAnotherServer(p, failure.Reason, now) {
		m.anotherServer(now)
	}
	if m.history.unrepeatable(now, m.resume, p, failure.Reason) {
		m.becomeWatching(now)
		return
	}
	what := reasons[failure.Reason].watch
	if failure.Reason == ConnectionLost && !p.open {
		what = report // no answer has come
	}
	if what == report || what == rejected {
		m.emit(Problem{Class: WatchProblem, Err: failure.Err})
	}
	if object.IsAnyVersion(p.version) {
		// If the watch was refused, the reason is told as that of an outage: perhaps every watch is
		// refused, and only lists bring news.
		if what != report && reasons[failure.Reason].means != wrong {
			failure.Reason = Unversioned
		}
		m.relist(now, failure)
		return
	}
	switch what {
	case relist:
		m.listOutrun(now, p, failure)
		m.relist(now, failure)
		return
	case dropped:
		m.dropped(now, p, failure)
		return
	case rejected:
		if m.backoff.failures++; m.backoff.failures >= maxFailures {
			m.backoff.failures = 0
			m.relist(now, failure)
			return
		}
	default: // again, and report
	}
	m.becomeWaiting(now, toWatch, failure)
}

// watchOver notes the end of a watch.
func (m *Machine) watchOver(now time.Time, p *watching) {
	m.backoff.after(p, now)
	if p.open {
		m.watchLives(now, false)
	}
}

// dropped decides what to do after a stream that was open and then ended without an error of the
// server.
func (m *Machine) dropped(now time.Time, p *watching, failure Failure) {
	switch {
	case failure.Reason == IdleTimeout:
		m.idle.ended(p)
		m.becomeWatching(now)
		return
	case p.lasted(now):
		m.becomeWatching(now)
		return
	case p.progress && !m.backoff.reopenedAtOnce:
		m.backoff.reopenedAtOnce = true
		m.becomeWatching(now)
		return
	case p.empty(now):
		m.backoff.emptyWatches++
	}
	if m.backoff.emptyWatches >= maxEmpties {
		m.backoff.emptyWatches = 0
		m.relist(now, Failure{EmptyWatches, failure.Code, failure.RetryAfter, failure.Err})
		return
	}
	m.becomeWaiting(now, toWatch, failure)
}
