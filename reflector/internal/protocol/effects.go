package protocol

import "time"

// Effect is something that the machine wants done. Effects are performed in their order.
type Effect interface{ effect() }

// Requests. There is one of each kind at a time: a list or a watch, an ask, a list of metadata.
type (
	// List asks for everything.
	List struct {
		Version string // "" asks for the most recent state, "0" for any
		Limit   int64  // objects a page; 0 for no limit

		// Reuse says that an item which the sink holds in the same version need not be decoded again.
		Reuse bool
	}

	// Watch opens a stream. Initial asks for the whole state first.
	Watch struct {
		Version string
		Timeout time.Duration // what the server is asked for; 0 leaves it to the server
		Initial bool
	}

	// Ask asks for the most recent state of one key, by a list with the resource's own selectors and two field selectors,
	// metadata.namespace and metadata.name, no resourceVersion and a limit of 2. Its version L makes "present as this" or
	// "absent" true of that key as of L. An empty Key asks for any one object: the answer's version is what matters then.
	Ask struct{ Key string }

	// ListMetadata asks for the metadata of everything, exactly at a version if the server still has it.
	ListMetadata struct{ Version string }

	// HangUp closes the list or watch that is open.
	HangUp struct {
		Reason Reason
		Err    error
	}

	// CancelAsk gives the ask up, and drops what it has brought.
	CancelAsk struct{}

	// CancelVerification does the same to a verification.
	CancelVerification struct{}
)

// What the sink is told. If it refuses, the rest of the effects is dropped, and the machine is told [SinkRefused].
type (
	// Replace makes the list, or the initial events that were collected, all that the sink has.
	Replace struct {
		Version string

		// KeepUnlisted says that what the sink holds and the list lacks stays, because nothing can be inferred from what is
		// missing: see [Machine.keepsUnlisted].
		KeepUnlisted bool
	}

	// Collect keeps the initial event that came for the Replace that follows.
	Collect struct{}

	// Apply gives the event, or the answer to the ask, to the sink.
	Apply uint8

	// Resync has the sink offer everything again.
	Resync struct{}

	// Compare compares the list of metadata with what the sink holds, see [Machine.Comparison], and tells the machine
	// [Compared].
	Compare struct{}
)

// The ways to apply an object.
const (
	Add    Apply = iota + 1
	Update       //
	Delete       // the object's final state is the event's

	// InferDelete deletes what the sink holds, whose final state nobody has seen.
	InferDelete
)

// What those who watch the reflector are told.
type (
	// Applied tells that the sink has the object of the event or the answer.
	Applied struct{}

	// Passed tells that a bookmark has moved the resume point.
	Passed struct{ Version string }

	// Refuse tells that the list that came is not used.
	Refuse struct{ Err error }

	// Failing tells that a list or a watch has failed.
	Failing struct{ Err error }

	// Relist tells that the resume point is given up, and a list will follow.
	Relist struct {
		Version string // the resume point
		Reason  Reason
		Err     error
	}

	// Backoff tells that nothing will be asked for until a delay has passed.
	Backoff struct {
		Delay  time.Duration
		Reason Reason
		Err    error
	}

	// Problem tells that something is wrong that the protocol does not provide for.
	Problem struct {
		Class ProblemClass
		Key   string // the object concerned, if one is
		Err   error
	}

	// Verified tells that a verification is over.
	Verified struct {
		Objects, Differences int
		Duration             time.Duration
	}

	// Synced tells that the sink has its first whole list.
	Synced struct{}
)

func (List) effect()               {}
func (Watch) effect()              {}
func (Ask) effect()                {}
func (ListMetadata) effect()       {}
func (HangUp) effect()             {}
func (CancelAsk) effect()          {}
func (CancelVerification) effect() {}
func (Replace) effect()            {}
func (Collect) effect()            {}
func (Apply) effect()              {}
func (Resync) effect()             {}
func (Compare) effect()            {}
func (Applied) effect()            {}
func (Passed) effect()             {}
func (Refuse) effect()             {}
func (Failing) effect()            {}
func (Relist) effect()             {}
func (Backoff) effect()            {}
func (Problem) effect()            {}
func (Verified) effect()           {}
func (Synced) effect()             {}
