package protocol

import "time"

// Effect is something that the machine wants done. Effects are performed in their order. Package
// reflector performs them in driver.go: calls of the sink in perform, requests in request, and
// reports in tell, but for [Applied].
type Effect interface{ effect() }

// Requests. There is one of each kind at a time: a list or a watch, a refetch, a list of metadata.
type (
	// List asks for everything.
	List struct {
		Version string // "" asks for the most recent state, "0" for any
		Limit   int64  // objects a page; 0 for no limit

		// Reuse says that an item which the sink holds in the same version need not be decoded
		// again.
		Reuse bool
	}

	// Watch opens a stream. Initial asks for the whole state first.
	Watch struct {
		Version string
		Timeout time.Duration // what the server is asked for; 0 leaves it to the server
		Initial bool
	}

	// Refetch asks for the state of one key: exactly at the version At, or the most recent one if
	// At is empty. It is a list with the resource's own selectors, two field selectors
	// (metadata.namespace and metadata.name), and a limit of 2. The list has a version L. It brings
	// the object that the key has as of L, or no object if there is none. An empty Key asks for any
	// one object; then only the version matters.
	Refetch struct{ Key, At string }

	// ListMetadata asks for the metadata of everything, exactly at a version. If the server refuses
	// that, it asks for any version that is not older. So it is at most two requests.
	ListMetadata struct{ Version string }

	// Cancel closes the list or watch that is open.
	Cancel struct {
		Reason Reason
		Err    error
	}

	// CancelRefetch gives the refetch up, and drops what it has brought.
	CancelRefetch struct{}

	// CancelVerification gives the verification up, and drops what it has brought.
	CancelVerification struct{}
)

// Calls of the sink. A step has at most one Apply or Replace, and it is the last effect. The next
// input says whether the sink [Took] it or [Refused] it. [Resumed] is the exception: effects may
// follow it, and there is no answer.
type (
	// Replace gives the sink a new whole state: the list, or the initial events that were
	// collected.
	Replace struct {
		Version string

		// KeepUnlisted says that the sink keeps the objects that the list lacks. The list has items
		// without a name, and an object that seems to be missing may be one of them. See
		// [Machine.keepsUnlisted].
		KeepUnlisted bool
	}

	// Collect keeps an initial event, because the Replace that follows needs it.
	Collect struct{}

	// Apply gives the sink the change that the event has brought, or the answer to the refetch.
	Apply uint8

	// Compare compares the list of metadata with what the sink holds, see [Machine.Comparison], and
	// tells the machine [Compared].
	Compare struct{}
)

// The ways to change a sink.
const (
	Add    Apply = iota + 1
	Update       //
	Delete       // the object's final state is the event's

	// InferDelete deletes the object that the sink holds. Its final state is unknown.
	InferDelete

	// Resync has no object: the sink offers all that it holds to its consumer again.
	Resync

	// Resumed has no object: the server has resumed the watch, so the saved copy counts as the
	// first list. The sink cannot refuse it.
	Resumed
)

// News is what a [Backoff] says about an outage, a time in which requests fail. Most delays say
// nothing new.
type News uint8

// What a Backoff can say.
const (
	NoNews     News = iota
	Fails           // an outage has begun
	StillFails      // the outage has a further reason
	FailsAgain      // the outage continues: the watch that seemed to end it has failed within 10 seconds
)

// Reports, for Trace and Status.
type (
	// Applied reports that the sink has the object of the event or the answer.
	Applied struct{}

	// Passed reports that a bookmark has come, and where the resume version is now.
	Passed struct{ Version string }

	// ListUnused reports that a list has come and is not used.
	ListUnused struct{ Err error }

	// Failing reports that a list or a watch has failed, or that a list follows because the sink
	// has refused something.
	Failing struct{ Err error }

	// Relist reports that the resume version is given up, and a list will follow.
	Relist struct {
		Version string // the resume version
		Reason  Reason
		Err     error
	}

	// Backoff reports that no request is sent until a delay has passed.
	Backoff struct {
		Delay  time.Duration
		Reason Reason
		Err    error

		News   News          // what this says about an outage
		Outage time.Duration // how long the outage has lasted; 0 if there is none
	}

	// Recovered reports that an outage is over, because a watch works. After is the time since the
	// Backoff with which it began, and Delays is how many delays there were since.
	Recovered struct {
		After  time.Duration
		Delays int
	}

	// Problem reports that something is wrong. If a watch ends cleanly, or its version has expired,
	// that is no problem.
	Problem struct {
		Class ProblemClass
		Key   string // of the object; "" if the problem concerns no object, or if the object has no readable name
		Err   error
	}

	// Released reports that an object is out of quarantine.
	Released struct{ Key string }

	// Verified reports that a verification is over.
	Verified struct {
		Objects     int // on the server
		Differences int // each was reported as a problem, up to 100 of them
		Duration    time.Duration
	}

	// Synced reports that the sink has its first whole list, or that a saved copy was resumed.
	Synced struct{}
)

func (List) effect()               {}
func (Watch) effect()              {}
func (Refetch) effect()            {}
func (ListMetadata) effect()       {}
func (Cancel) effect()             {}
func (CancelRefetch) effect()      {}
func (CancelVerification) effect() {}
func (Replace) effect()            {}
func (Collect) effect()            {}
func (Apply) effect()              {}
func (Compare) effect()            {}
func (Applied) effect()            {}
func (Passed) effect()             {}
func (ListUnused) effect()         {}
func (Failing) effect()            {}
func (Relist) effect()             {}
func (Backoff) effect()            {}
func (Recovered) effect()          {}
func (Problem) effect()            {}
func (Released) effect()           {}
func (Verified) effect()           {}
func (Synced) effect()             {}
