package reflector

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/option"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// Options of a [Reflector]. The zero value is ready. Every field follows one
// rule: zero is the default, negative is off. A time of more than a year counts
// as a year.
type Options struct {
	// PageSize is the limit of a list request: the number of objects in one page. If
	// positive, every list has this limit. If negative, no list has a limit.
	//
	// If zero, a list at resourceVersion 0 and a list of the most recent state have a
	// limit of 500. A server with a watch cache ignores the limit of a list at 0, and
	// sends everything in one answer. A list at any other version has no limit, because
	// older servers do not answer a list with a limit from their watch cache. If the
	// server sends a list at 0 in pages, it has no watch cache, and then every list has a
	// limit of 500.
	PageSize int

	// Initial says how the reflector asks for the whole state. It does so at first, and
	// whenever it cannot continue the watch at the resume version. If zero, FromCache.
	Initial InitialList

	// Start is the point of a saved copy, which the sink holds. The sink must be a [Holder];
	// otherwise Run returns an error. It must hold the copy before the first Run. The reflector
	// opens a watch at Start.Version, and lists nothing if the server still has that version. If
	// the server no longer has it (for example, it answers with 410), the reflector lists, and the
	// sink learns from the list what is gone.
	//
	// The copy may be of another server than this one. For example, this one may have been restored
	// from a backup. So as soon as the watch is open, the reflector asks for the newest object that
	// the server of the copy had sent, see [Point]. If it is not as it was, the reflector lists the
	// most recent state. [Status.Synced] waits for that. Only [VerifyOptions] finds a difference
	// that is older than this object.
	//
	// If Start.Version is empty, the reflector begins with a list.
	Start Point

	// Fatal is called for each list and watch that fails, and also if the sink refuses a list, a
	// resync or more than 100 objects. If it returns true, Run ends with that error. Use it if
	// another try is hopeless: a type was removed (apierrors.IsNotFound), or a right was taken away
	// (IsForbidden). The error is an [*OutageError], which says since when requests have been
	// failing. If Fatal is nil, no error ends Run. The reflector's goroutine calls Fatal.
	Fatal func(err error) bool

	// TypeFits reports whether T is known to fit the objects of this resource: for example, another
	// reflector has decoded some, of another namespace. If it does, a first list is used even if
	// none of its objects can be decoded: they go into quarantine. If TypeFits is nil, or returns
	// false, such a list is a failure, because the type of the program is probably wrong. The
	// reflector's goroutine calls it.
	TypeFits func() bool

	// Verify compares the copy with the server periodically. The zero value does not.
	Verify VerifyOptions

	// Resync is the period after which the sink's Resync is called, so that it offers every
	// object again. If zero or negative, it is never called.
	Resync time.Duration

	// MinWatchTimeout is the least time that the server is asked to keep a watch open. Each
	// watch asks for a random time between this and twice this, in whole seconds. So
	// watches that were opened together do not end together. If zero, 5 minutes. If a proxy
	// cuts long connections, set MinWatchTimeout below half of the proxy's limit. If
	// negative, the server decides, and the reflector gives a watch up only if it is
	// idle.
	MinWatchTimeout time.Duration

	// ResponseIdleTimeout is how long the answer to a list, or to a refetch of a single object, may
	// be idle. After that the request is given up and sent again. A slow answer is never cut as
	// long as bytes come. If zero, 2 minutes, which is twice the time that an API server allows for
	// a request. If negative, the reflector waits without end.
	ResponseIdleTimeout time.Duration

	// BackoffBase is the first delay after a failure, and BackoffCap is the longest one.
	// Jitter makes each delay longer, up to twice its length. If zero, they are 800 ms and
	// 30 s, as in client-go. If the server answers with an error, the delays are 1, 1, 1,
	// 1.5, 5, 5, 10, 20 and 37.5 times BackoffBase. If the server cannot be reached, they
	// are 1, 2 and then 3.125 times BackoffBase, because a connection that is refused costs
	// the server nothing.
	//
	// BackoffBase also decides two other things. The first is how many requests the
	// reflector sends: at 800 ms, no more than 24 watches, and no more than 24 lists, in
	// any minute. Lists of single objects and of [VerifyOptions] count. The further pages of a list
	// do not, and a call of [Reflector.Relist] adds a list and a watch. The second is the
	// time over which many reflectors spread their lists after an outage: at 800 ms, it is
	// 7 s. A longer base means fewer requests and a longer time. A base below 1 ms counts as 1 ms.
	//
	// If BackoffBase is negative, there is no backoff; do that in tests only. The reflector
	// then sends up to about 240 watches in a second, and as many lists. If BackoffCap is
	// negative, the longest backoff is zero, and the two other things stay the same.
	BackoffBase time.Duration
	BackoffCap  time.Duration

	// Rand returns a number in [0, 1) for timeouts and jitter. If nil,
	// math/rand/v2 is used. It is called on the reflector's goroutine.
	Rand func() float64

	// Trace has the functions that are called when something happens. It may be nil.
	Trace *Trace
}

// Source of these figures: https://github.com/kubernetes/kubernetes/pull/87795. They keep
// clients from overloading an API server that comes back.
const (
	defaultBackoffBase = 800 * time.Millisecond
	defaultBackoffCap  = 30 * time.Second

	// minBackoffBase is the base if Options.BackoffBase is negative or shorter. The limits of
	// requests are in proportion to the base, so a base of zero would remove them.
	minBackoffBase = time.Millisecond
)

const (
	defaultMinWatchTimeout     = 5 * time.Minute
	defaultResponseIdleTimeout = 2 * time.Minute
)

// rules returns the options as the machine uses them, with every default filled in.
func (o Options) rules() protocol.Rules {
	r := protocol.Rules{
		PageSize:            int64(o.PageSize),
		Initial:             o.Initial,
		Resync:              option.Time(o.Resync, 0),
		MinTimeout:          option.Time(o.MinWatchTimeout, defaultMinWatchTimeout),
		ResponseIdleTimeout: option.Time(o.ResponseIdleTimeout, defaultResponseIdleTimeout),
		Base:                max(option.Time(o.BackoffBase, defaultBackoffBase), minBackoffBase),
		Cap:                 option.Time(o.BackoffCap, defaultBackoffCap),
		TypeFits:            o.TypeFits,
		Rand:                o.Rand,
	}
	if o.Verify.Metadata != nil {
		r.Verify = option.Time(o.Verify.Interval, 0)
	}
	if o.BackoffBase < 0 {
		r.Cap = 0
	}
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	return r
}

// InitialList is a way to get the whole state of a resource.
type InitialList = protocol.InitialList

const (
	// FromCache takes whatever state the server has cached (resourceVersion=0), which costs
	// the server least. The first list may be a little behind. Later lists are not older
	// than what the sink has got.
	//
	// A server remembers events for a limited time. If a list takes longer than that, the
	// server has forgotten events since the version of the list, and refuses a watch at
	// that version. After two such lists in a row, FromCache and Consistent do the same
	// as Streaming for an hour.
	FromCache = protocol.FromCache

	// Consistent asks for the most recent state in the first list.
	Consistent = protocol.Consistent

	// Streaming asks the server to send the state as the first events of a watch
	// (sendInitialEvents), one by one. This costs the server the least memory. The first
	// state is the most recent one. Later ones are not older than what the sink has got.
	//
	// In each of these cases the reflector asks for lists instead, for an hour:
	//
	//   - The server refuses such a watch as wrong, for example with 400 or 422, but not
	//     with 401, 403 or 404.
	//   - Two streams in a row end before the state is complete, or are refused with 410,
	//     429 or 500.
	//   - A stream is idle for 30 seconds before the state is complete.
	//   - 30 seconds after the first event that is not part of the state, the state is
	//     still not complete.
	//
	// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
	Streaming = protocol.Streaming
)

// VerifyOptions makes a reflector compare the objects of its sink with the server's,
// periodically. If a server loses an event in its cache, no client learns of the change,
// and a client may keep a deleted object forever
// (https://github.com/kubernetes/kubernetes/issues/123072).
//
// The reflector lists only metadata, and compares keys, UIDs and versions. The metadata of
// a typical Pod takes 4.3 KB, most of it managedFields. So to compare 20,000 Pods once an
// hour costs 86 MB an hour. The metadata of a small ConfigMap takes 0.6 KB. The reflector
// reports each difference, and asks the server for that object. If more than 100 objects
// differ, the reflector lists. The sink gets the corrections as ordinary changes.
type VerifyOptions struct {
	// Interval is the period; up to a tenth of it is added at random. If zero or
	// negative, nothing is compared.
	Interval time.Duration

	// Metadata lists the same objects as the reflector does:
	// listwatch.Client.Metadata returns it.
	Metadata source.ListWatcher[*metav1.PartialObjectMetadata]
}
