package protocol

import (
	"time"

	"github.com/relist-go/relist/object"
)

// silence is how long a watch may bring nothing before it is given up. A proxy may answer the pings of a connection whose
// other side is gone, and over HTTP/1.1 there are no pings. What follows a silent watch is another at the same resume point,
// which costs little: that is all the harm that a limit does if it is too short.
type silence struct {
	// gap is the time between the last two bookmarks of one stream; zero before there were two.
	gap time.Duration

	// learned is the limit for a watch that has brought no bookmark; zero is the first limit.
	learned time.Duration
}

const (
	// The first limit is drawn from [minSilence, maxSilence), so that watches that were opened together are not opened
	// again together. API servers send bookmarks about once a minute, but none before the cache of a stream's type has passed
	// the version that the stream began at.
	minSilence = 55 * time.Second
	maxSilence = 90 * time.Second

	// unmissed is how soon after it was asked for a watch brings what the one before it missed.
	unmissed = 5 * time.Second
)

// limit returns how long the next watch may be silent before its first bookmark.
func (s *silence) limit(r *Rules) time.Duration {
	if s.learned > 0 {
		return s.learned
	}
	return minSilence + r.jitter(maxSilence-minSilence)
}

// silentAt returns when a watch has been silent for too long: after a bookmark, one and a half of the time between
// bookmarks; before, the limit that was learned. A watch without a version has no limit, because it cannot be resumed: a list
// would follow.
func (m *Machine) silentAt(p *watching) time.Time {
	if object.Any(p.version) {
		return time.Time{}
	}
	limit := p.silence
	if !p.bookmark.IsZero() {
		limit = max(maxSilence, m.silence.gap*3/2)
	}
	return p.heard.Add(limit)
}

// ended learns from a watch that was given up: if it never brought a bookmark, its silence may have been all that there was
// to say, so the next may be silent for twice as long.
func (s *silence) ended(p *watching) {
	if p.bookmark.IsZero() {
		s.learned = min(2*p.silence, time.Hour)
	}
}

// broken learns from an event or a bookmark: if it comes as soon as a watch was asked for, then the one before it was dead
// rather than silent, so this one and the next are given up as soon as the first was. What comes later says nothing, even if
// it is the first sign of the watch: some proxies hold the head of an answer back until there is an event.
func (s *silence) broken(r *Rules, now time.Time, p *watching) {
	if s.learned > 0 && !p.progress && now.Sub(p.asked) < unmissed {
		s.learned = 0
		p.silence = s.limit(r)
	}
}
