package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// idleLimits decides how long a watch may bring nothing before the machine gives it up. Pings do
// not suffice: a proxy may answer the pings although the server behind it is gone, and HTTP/1.1 has
// no pings. A limit that is too short does little harm, because the next watch begins at the resume
// version, or up to four events before it, and costs the server little.
type idleLimits struct {
	// bookmarkGap is the time between the last two bookmarks of one stream; zero before there were
	// two.
	bookmarkGap time.Duration

	// learnedLimit is the limit for a watch that has brought no bookmark. If zero, the first limit
	// is used.
	learnedLimit time.Duration
}

var errIdle = errors.New("nothing came for too long")

const (
	// The first limit is drawn from [minIdle, maxIdle), so that watches that were opened together
	// are not opened again together. API servers send a bookmark about once a minute, but the first
	// one only after the watch cache has passed the version at which the watch began.
	minIdle = 55 * time.Second
	maxIdle = 90 * time.Second

	// If a watch was dead, the watch after it brings the missed events within backlogWithin after
	// it was asked for.
	backlogWithin = 5 * time.Second
)

// limit returns how long the next watch may be idle before its first bookmark.
func (l *idleLimits) limit(r *Rules) time.Duration {
	if l.learnedLimit > 0 {
		return l.learnedLimit
	}
	return minIdle + r.jitter(maxIdle-minIdle)
}

// idleAt returns when a watch has been idle for too long. Before the first bookmark, the limit is
// that of idleLimits.limit. After it, the limit is 1.5 times the time between the last two
// bookmarks, and at least maxIdle. A watch without a version has no limit, because it cannot be
// resumed and a list would follow.
func (m *Machine) idleAt(p *watching) time.Time {
	if object.IsAnyVersion(p.version) {
		return time.Time{}
	}
	limit := p.idleLimit
	if !p.bookmark.IsZero() {
		limit = max(maxIdle, m.idle.bookmarkGap*3/2)
	}
	return p.heard.Add(limit)
}

// ended learns from a watch that was given up. If the watch never brought a bookmark, the server
// may have had nothing to send, so the next watch may be idle for twice as long.
func (l *idleLimits) ended(p *watching) {
	if p.bookmark.IsZero() {
		l.learnedLimit = min(2*p.idleLimit, time.Hour)
	}
}

// signOfLife learns from an event or a bookmark. If the event comes within backlogWithin, then the
// watch before was dead and not merely idle, so the first limit is used again. A later event says
// nothing, even if it is the first of the watch: some proxies hold the head of an answer back until
// there is an event.
func (l *idleLimits) signOfLife(r *Rules, now time.Time, p *watching) {
	if l.learnedLimit > 0 && !p.progress && now.Sub(p.asked) < backlogWithin {
		l.learnedLimit = 0
		p.idleLimit = l.limit(r)
	}
}
