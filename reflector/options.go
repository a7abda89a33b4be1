package reflector

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector/internal/protocol"
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
	// seconds. If zero, 5 minutes. Set it lower if something between client
	// and server cuts connections that live longer. If negative, the server's own
	// timeout holds; then only silence makes the reflector give a watch up.
	MinWatchTimeout time.Duration

	// Patience is how long the answer to a list, or to an ask for a single object, may
	// bring nothing before it is given up and requested again. An answer that is slow,
	// but comes, is never cut. If zero, 2 minutes, which is twice what an API server takes
	// for a request. If negative, answers are waited for without end.
	Patience time.Duration

	// BackoffBase is the first pause after a failure, and BackoffCap the longest
	// one, before jitter, which adds up to the pause's own length. If zero, 800 ms and
	// 30 s, as in client-go. If the server answers, the pauses are 1, 1, 1, 1.5, 5, 5,
	// 10, 20 and 37.5 times BackoffBase; while it cannot be reached, they are 1, 2 and
	// then 3.125 times BackoffBase, because a connection that is refused costs it
	// nothing. Two limits go in proportion to BackoffBase: at 800 ms, no more than 24
	// watches, and 24 lists and asks, are begun in a minute, and the lists of a fleet are
	// spread over 7 s after an outage. If negative, there are neither pauses nor limits; do
	// that in tests only.
	BackoffBase time.Duration
	BackoffCap  time.Duration

	// Rand returns a number in [0, 1) for timeouts and jitter. If nil,
	// math/rand/v2 is used. It is called on the reflector's goroutine.
	Rand func() float64

	// Trace is told what happens. If nil, nobody is.
	Trace *Trace
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

// rules returns the options as the machine uses them, with every default filled in.
func (o Options) rules() protocol.Rules {
	r := protocol.Rules{
		PageSize:   int64(o.PageSize),
		Initial:    protocol.Initial(o.Initial),
		Resync:     max(o.Resync, 0),
		MinTimeout: orDefault(o.MinWatchTimeout, defaultMinWatchTimeout),
		Patience:   orDefault(o.Patience, defaultPatience),
		Base:       orDefault(o.BackoffBase, defaultBackoffBase),
		Cap:        orDefault(o.BackoffCap, defaultBackoffCap),
		Rand:       o.Rand,
	}
	if o.Verify.Metadata != nil {
		r.Verify = max(o.Verify.Every, 0)
	}
	if r.Rand == nil {
		r.Rand = rand.Float64
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

// Initial is a way to get the whole state of a resource.
type Initial protocol.Initial

const (
	// ListAny lists whatever state the server has cached (resourceVersion=0), which
	// costs the server least. A first list may be a little behind; what is delivered after
	// it never goes back. Later lists are not older than what was delivered.
	//
	// If two lists in a row take longer than the server remembers events, the server
	// cannot open a watch at their version. Then ListAny and ListMostRecent give way to
	// Watch for an hour.
	ListAny = Initial(protocol.ListAny)

	// ListMostRecent asks for the most recent state in the first list.
	ListMostRecent = Initial(protocol.ListMostRecent)

	// Watch has the server send the state as the first events of a watch
	// (sendInitialEvents), one by one, which takes the least memory of it. The state
	// is the most recent. A server is asked for lists, for an hour, if it refuses, or if
	// two streams do not come to the end of the state, or one does not within 30 seconds
	// of silence, or within 30 seconds after the first event that is no part of it.
	// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
	Watch = Initial(protocol.InitialEvents)
)

// Verify has a reflector compare what its sink holds with the server, now and then. A
// server that loses an event in its cache never says so; clients keep a deleted object
// for ever (https://github.com/kubernetes/kubernetes/issues/123072).
//
// The comparison is of keys, UIDs and versions, by a list of metadata alone. That is
// 4.3 KB for a Pod as a cluster has them, most of it managedFields, and 0.6 KB for a
// small ConfigMap: 20,000 Pods compared once an hour cost 86 MB an hour. What differs
// is reported, and the server is asked for each of those objects; if more than 100
// differ, everything is listed. The repair arrives at the sink as ordinary changes.
type Verify struct {
	// Every is the period; up to a tenth of it is added at random. If zero or
	// negative, nothing is compared.
	Every time.Duration

	// Metadata lists the same objects as the reflector does:
	// listwatch.Resource.Metadata returns it.
	Metadata listwatch.ListWatcher[*metav1.PartialObjectMetadata]
}
