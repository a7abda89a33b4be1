package reflector

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// pace limits how often requests are sent, whatever the reason for the next
// one: opens are counted, not errors. A stream that delivers one event and dies
// is as expensive as one that fails.
type pace struct {
	// step is the place on the backoff curve.
	step int

	// reconnected is set once a short stream was opened again at once. The
	// first one after a healthy stream costs nothing; the next waits.
	reconnected bool

	// failures counts watches in a row that failed without an event, and
	// empties those that ended at once without one.
	failures, empties int
}

const (
	// healthy is the life of a stream after which the pace starts afresh. The
	// simulations assert that no server can make a reflector open more than 24
	// watches in a minute.
	healthy = 10 * time.Second

	// short is the life below which a stream without an event counts as refused.
	// Servers that keep no window for a resource answer an old resourceVersion
	// so: https://github.com/kubernetes/kubernetes/issues/104171.
	short = time.Second

	// maxFailures in a row without progress make the reflector list again. It
	// is kept above one because a list costs the server far more than a watch.
	maxFailures = 3

	// maxRetryAfter is the longest that a server can keep a reflector away. More is
	// taken for a mistake: nobody wants a copy that is hours old.
	maxRetryAfter = time.Hour

	// maxEmpties streams in a row that ended at once without an event do the same.
	maxEmpties = 2
)

// after returns the pace once a watch is over: a long life makes good for
// everything, and an event for the failures before it.
func (p pace) after(w watching, now time.Time) pace {
	if w.open && w.alive(now) >= healthy {
		return pace{}
	}
	if w.progress {
		p.failures, p.empties = 0, 0
	}
	return p
}

// next returns the pause before the next request and moves along the curve. A
// Retry-After in err is the least that is waited; jitter comes on top of it, so
// that clients told the same do not come back together.
func (p *pace) next(r *rules, err error) time.Duration {
	base := r.base
	for range p.step {
		if base >= r.cap {
			break
		}
		base *= 2
	}
	base = min(base, r.cap)
	p.step++
	floor := base
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		floor = max(floor, min(time.Duration(seconds)*time.Second, maxRetryAfter))
	}
	return floor + time.Duration(r.rand()*float64(base))
}
