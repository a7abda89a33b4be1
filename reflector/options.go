package reflector

import (
	"math/rand/v2"
	"time"
)

// Options of a [Reflector]. The zero value is ready. Every field follows one
// rule: zero is the default, negative is off.
type Options struct {
	// PageSize is the number of objects asked for in one list request.
	// If zero, it is 500 where the API server pages in any case (a first list,
	// a list of the most recent state, and every list once a server that keeps
	// no watch cache has been met), and no limit where that would keep the list
	// from being served by the watch cache. If positive, it is always asked
	// for. If negative, lists are not paged.
	PageSize int

	// Initial says how the reflector gets the whole state: at first, and when it has
	// lost touch. If zero, ListAny.
	Initial Initial

	// Fatal is asked about each list and watch that fails whether Run should end with
	// that error, for cases in which trying again is hopeless: a type that was removed
	// (apierrors.IsNotFound), a right that was taken away (IsForbidden). The error is
	// an [*Outage], which says since when it has been like this. If nil, Run goes on
	// for ever. It is called on the reflector's goroutine.
	Fatal func(err error) bool

	// Verify compares the copy with the server now and then. The zero value does not.
	Verify Verify

	// Resync is the period after which the sink is told to offer every object
	// again. If zero or negative, it is never told.
	Resync time.Duration

	// MinWatchTimeout is the least time that the server is asked to keep a watch
	// open. The time asked for is spread evenly between it and twice its value,
	// so that watches opened together do not end together. It is sent in whole
	// seconds. If zero, 5 minutes. Set it lower where something between client
	// and server cuts connections that live longer. If negative, the server's own
	// timeout holds, and the reflector has no timer beside it.
	MinWatchTimeout time.Duration

	// Patience is how long a list may bring nothing before it is given up and tried
	// again. A list that is slow, but comes, is never cut. If zero, 2 minutes, which is
	// twice what an API server takes for a request. If negative, lists are waited for.
	Patience time.Duration

	// BackoffBase is the first pause after a failure, and BackoffCap the longest
	// one, before jitter. A pause doubles from one failure to the next, and up
	// to its own length is added at random. If zero, 800 ms and 30 s, as in
	// client-go. If negative, there are no pauses; do that in tests only.
	BackoffBase time.Duration
	BackoffCap  time.Duration

	// Rand returns a number in [0, 1) for timeouts and jitter. If nil,
	// math/rand/v2 is used. It is called on the reflector's goroutine.
	Rand func() float64

	// Trace is told what happens. If nil, nobody is.
	Trace *Trace
}

// rules are the options as the machine uses them: every default filled in.
type rules struct {
	pageSize   int64
	initial    Initial
	resync     time.Duration
	minTimeout time.Duration
	patience   time.Duration
	base, cap  time.Duration
	rand       func() float64
}

// Backoff: https://github.com/kubernetes/kubernetes/pull/87795 chose these
// figures, so that an API server that comes back is not run over.
const (
	defaultBackoffBase = 800 * time.Millisecond
	defaultBackoffCap  = 30 * time.Second
)

const (
	defaultMinWatchTimeout = 5 * time.Minute
	defaultPatience        = 2 * time.Minute
)

func (o Options) rules() *rules {
	r := &rules{
		pageSize:   int64(o.PageSize),
		initial:    o.Initial,
		resync:     o.Resync,
		minTimeout: orDefault(o.MinWatchTimeout, defaultMinWatchTimeout),
		patience:   orDefault(o.Patience, defaultPatience),
		base:       orDefault(o.BackoffBase, defaultBackoffBase),
		cap:        orDefault(o.BackoffCap, defaultBackoffCap),
		rand:       o.Rand,
	}
	if r.rand == nil {
		r.rand = rand.Float64
	}
	return r
}

// orDefault is the rule of [Options]: zero is the default, negative is off.
func orDefault(value, byDefault time.Duration) time.Duration {
	if value == 0 {
		return byDefault
	}
	return max(value, 0)
}
