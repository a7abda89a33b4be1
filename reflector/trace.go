package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// Trace is a set of functions that are called for what a reflector does, in the
// manner of net/http/httptrace.ClientTrace. Any of them may be nil. They are
// called one at a time, in order, on the reflector's goroutine, which waits for
// them: they must be quick, and must not call the reflector.
//
// The reflector reports in no other way. Logs and metrics are built on Trace:
// [LogTrace] is a log, and [JoinTraces] makes one Trace of several.
type Trace struct {
	// RunStart: Run was called.
	RunStart func(RunStart)

	// ListStart: a list is asked for.
	ListStart func(ListStart)

	// ListDone: the sink has got a whole list, or the list has failed.
	ListDone func(ListDone)

	// WatchStart: a watch is asked for.
	WatchStart func(WatchStart)

	// WatchOpen: the server has answered the watch.
	WatchOpen func()

	// Event: the sink has got the object of an event, or of an answer to a refetch.
	Event func(Event)

	// Bookmark: the server has sent everything up to this version.
	Bookmark func(resourceVersion string)

	// WatchEnd: a watch was refused, has ended, or was closed by the reflector.
	WatchEnd func(WatchEnd)

	// Relist: the resume version is given up, and a list will follow.
	Relist func(Relist)

	// Backoff: no request is sent until a delay has passed.
	Backoff func(Backoff)

	// Recovered: an outage is over, which a Backoff has reported.
	Recovered func(Recovered)

	// Synced: the sink has its first whole list, or the copy of [Options.Start] was resumed.
	Synced func()

	// Verified: the sink was compared with the server, see [VerifyOptions].
	Verified func(Verified)

	// Problem: something is wrong. If a watch ends cleanly, or its version has
	// expired, that is no problem.
	Problem func(Problem)

	// Released: an object is out of quarantine, see [Status.Quarantined].
	Released func(key string)
}

// RunStart is given to [Trace.RunStart]. It is what [source.ScopeOf] says of the ListWatcher.
type RunStart struct {
	Resource  string // "deployments.apps"; "" if the ListWatcher does not say what it lists
	Namespace string // "" for all namespaces; also "" if the text of Resource contains the namespace
}

// ListStart is given to [Trace.ListStart].
type ListStart struct {
	ResourceVersion string // "" asks for the most recent state, "0" for any
	Limit           int64  // objects a page; 0 is no limit
}

// ListDone is given to [Trace.ListDone].
type ListDone struct {
	ResourceVersion string // of the list
	Items           int
	Pages           int
	Duration        time.Duration // from the first request to the end of the last answer
	Err             error
}

// WatchStart is given to [Trace.WatchStart].
type WatchStart struct {
	ResourceVersion string
	Timeout         time.Duration // what the server is asked for
	Initial         bool          // the whole state is asked for first, see [Streaming]
}

// Event is given to [Trace.Event].
type Event struct {
	Type            object.EventType
	Key             string
	UID             types.UID
	ResourceVersion string
}

// WatchEnd is given to [Trace.WatchEnd].
type WatchEnd struct {
	ResourceVersion string // the resume version
	Reason          Reason
	Err             error
	Events          int           // received, without bookmarks, and with those that the server repeated, for which Event is not called
	Duration        time.Duration // since the watch was asked for
}

// Relist is given to [Trace.Relist].
type Relist struct {
	ResourceVersion string // the resume version
	Reason          Reason
	Err             error
}

// Backoff is given to [Trace.Backoff].
type Backoff = protocol.Backoff

// Recovered is given to [Trace.Recovered].
type Recovered = protocol.Recovered

// Verified is given to [Trace.Verified].
type Verified = protocol.Verified

// Problem is given to [Trace.Problem].
type Problem = protocol.Problem

// ProblemClass says what a problem concerns.
type ProblemClass = protocol.ProblemClass

// withDefaults returns a Trace in which every function can be called.
func (t *Trace) withDefaults() Trace {
	var full Trace
	if t != nil {
		full = *t
	}
	fill(&full.RunStart)
	fill(&full.ListStart)
	fill(&full.ListDone)
	fill(&full.WatchStart)
	fill(&full.Event)
	fill(&full.Bookmark)
	fill(&full.WatchEnd)
	fill(&full.Relist)
	fill(&full.Backoff)
	fill(&full.Recovered)
	fill(&full.Verified)
	fill(&full.Problem)
	fill(&full.Released)
	if full.WatchOpen == nil {
		full.WatchOpen = func() {}
	}
	if full.Synced == nil {
		full.Synced = func() {}
	}
	return full
}

func fill[A any](f *func(A)) {
	if *f == nil {
		*f = func(A) {}
	}
}

// JoinTraces returns a Trace that calls each of the given ones, in their order. A nil Trace
// counts as an empty one. The functions are taken from the Traces when JoinTraces is called.
func JoinTraces(traces ...*Trace) *Trace {
	joined := &Trace{}
	for _, t := range traces {
		if t == nil {
			continue
		}
		join(&joined.RunStart, t.RunStart)
		join(&joined.ListStart, t.ListStart)
		join(&joined.ListDone, t.ListDone)
		join(&joined.WatchStart, t.WatchStart)
		join(&joined.Event, t.Event)
		join(&joined.Bookmark, t.Bookmark)
		join(&joined.WatchEnd, t.WatchEnd)
		join(&joined.Relist, t.Relist)
		join(&joined.Backoff, t.Backoff)
		join(&joined.Recovered, t.Recovered)
		join(&joined.Verified, t.Verified)
		join(&joined.Problem, t.Problem)
		join(&joined.Released, t.Released)
		joinPlain(&joined.WatchOpen, t.WatchOpen)
		joinPlain(&joined.Synced, t.Synced)
	}
	return joined
}

// join makes f call what it called before, and then next. If there is only one of the two, f is
// that one, so that nothing is added to the cost of a call.
func join[A any](f *func(A), next func(A)) {
	switch first := *f; {
	case next == nil:
	case first == nil:
		*f = next
	default:
		*f = func(a A) { first(a); next(a) }
	}
}

// joinPlain is join for functions without an argument.
func joinPlain(f *func(), next func()) {
	switch first := *f; {
	case next == nil:
	case first == nil:
		*f = next
	default:
		*f = func() { first(); next() }
	}
}
