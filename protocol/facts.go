package protocol

import (
	"time"

	"github.com/relist-go/relist/object"
)

// Input is a fact that the driver reports to the machine. If the phase has no use for an input,
// nothing changes: the input comes from a request that the machine has given up.
//
// Package reflector reports the facts of a request in request.go, where its answer is read, a saved
// copy in point.go, and the others in driver.go.
type Input interface{ input() }

type (
	// Tick says that the time which Wake returned has come. Each field says when the last byte of
	// one open request came; Main is that of the list or the watch. If a message of the request
	// still waits for the driver, the field is the current time. If the request is not open, or has
	// brought nothing, the field is zero.
	Tick struct{ Main, Refetch, Verification time.Time }

	// Listed says that the whole list has come. If Failure has a reason, it did not come.
	Listed struct {
		Sum     Sum
		Failure Failure
	}

	// Opened says that the server has accepted the watch. Reconnected says that a list came before
	// this watch, and that its connection was closed in between: the server may have been started
	// again.
	Opened struct{ Reconnected bool }

	// Seen says that the stream delivered an event; an ERROR is an [Ended]. It is a pointer, and
	// the driver uses it again for the next event.
	Seen struct {
		Type object.EventType
		Item Item

		// EndsInitial marks the bookmark that ends the initial events; Sum is then what [Fold]
		// makes of the collected objects.
		EndsInitial bool
		Sum         *Sum
	}

	// Ended says that the watch was refused, or its stream is over.
	Ended struct{ Failure Failure }

	// Refetched brings the answer to a refetch, with at most two of its items. If Failure has a
	// reason, there is no answer.
	Refetched struct {
		Version string
		Items   []Item
		More    bool // the server says that there are more items, or has sent more
		Failure Failure

		// Held is what the sink holds under the key that was asked for, if IsHeld.
		Held   object.Meta
		IsHeld bool
	}

	// MetadataListed says that the list of a verification is here. If Failure has a reason, it did
	// not come.
	MetadataListed struct {
		Version string
		Failure Failure
	}

	// Compared says that the list of a verification was compared with the sink. Duration is the
	// time since that list was asked for.
	Compared struct {
		Differences Differences
		Duration    time.Duration
	}

	// ListWanted says that the program asks for a list that begins now. Ticket is the number of its
	// call of Relist; see [Status].
	ListWanted struct{ Ticket int }

	// ResumeSaved says that the sink holds a saved copy. If it is not the first input, it changes
	// nothing.
	ResumeSaved struct{ Point Point }

	// Took says that the sink took the Apply or the Replace of the last step. After such a step,
	// Took or Refused is the next input.
	Took struct{}

	// Refused says that the sink returned an error for the Apply or the Replace.
	Refused struct{ Err error }

	// Stopped says that everything that was open is closed. The next Tick continues from there.
	Stopped struct{}
)

// Item is one object of an answer or an event, as the server sent it, and what the sink holds under
// its key.
type Item struct {
	Meta object.Meta

	// Err says why the object cannot be used; nil if it can. The machine passes it on, and never
	// looks into it.
	Err error

	// Held is what the sink holds under the key, if IsHeld. A transform may have cleared the UID
	// and the version in Held. If the sink does not say what it holds, IsHeld is always false; see
	// [Rules.SinkTells].
	Held   object.Meta
	IsHeld bool
}

func (Tick) input()           {}
func (Listed) input()         {}
func (Opened) input()         {}
func (*Seen) input()          {}
func (Ended) input()          {}
func (Refetched) input()      {}
func (MetadataListed) input() {}
func (Compared) input()       {}
func (ListWanted) input()     {}
func (ResumeSaved) input()    {}
func (Took) input()           {}
func (Refused) input()        {}
func (Stopped) input()        {}
