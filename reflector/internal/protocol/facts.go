package protocol

import (
	"time"

	"github.com/relist-go/relist/object"
)

// Input is a fact that the machine is told. An input that the phase has no use for changes nothing: it comes from a request
// that the machine has given up.
type Input interface{ input() }

type (
	// Tick says that the clock has reached what Wake asked for, or more.
	Tick struct{ Heard Heard }

	// Listed says that the list that was asked for is here.
	Listed struct{ Sum Sum }

	// ListFailed says that the list that was asked for did not come.
	ListFailed struct{ Failure Failure }

	// Opened says that the server has accepted the watch.
	Opened struct{}

	// Seen says that the stream delivered an event. It is passed as a pointer and used again for the next one.
	Seen struct {
		Type Type
		Item Item

		// EndsInitial marks the bookmark that ends the initial events; Sum is then the fold of what was collected.
		EndsInitial bool
		Sum         *Sum
	}

	// Ended says that the watch was refused, or its stream is over.
	Ended struct{ Failure Failure }

	// Answered brings the answer to an ask, with at most two of its items. If Failure has a reason, there is no answer.
	Answered struct {
		Version string
		Items   []Item
		More    bool // the server says that there are more items, or has sent more
		Failure Failure

		// Held is what the sink holds under the key that was asked for, if IsHeld.
		Held   object.Meta
		IsHeld bool
	}

	// MetadataListed says that the list of a verification is here. If Failure has a reason, it did not come.
	MetadataListed struct {
		Version string
		Failure Failure
	}

	// Compared says that the list of a verification, which was asked for so long ago, was compared with the sink.
	Compared struct {
		Differences Differences
		Duration    time.Duration
	}

	// ListWanted says that somebody asks for a list that begins now. Ticket numbers the calls; see [Status].
	ListWanted struct{ Ticket int }

	// SinkRefused says that the sink did not take the Apply, the Replace or the Resync of the last step. The effects that were to
	// follow it have not been performed.
	SinkRefused struct{ Err error }

	// Stopped says that everything that was open is closed. The next Tick goes on where this left off.
	Stopped struct{}
)

// Heard is when the last byte of each open request came. It is now for a request that has brought something which the driver has
// not looked at, and zero for one that is not open, or has brought nothing.
type Heard struct{ Main, Ask, Verification time.Time }

// Item is one object of an answer or an event, as it came over the wire, beside what the sink holds under its key.
type Item struct {
	Meta object.Meta

	// Err says why the object cannot be used; nil if it can. The machine passes it on, and never looks into it.
	Err error

	// Held is what the sink holds under the key, if IsHeld. A transform may have cleared its UID and version. Both are
	// zero if the sink does not tell, see [Rules.SinkTells].
	Held   object.Meta
	IsHeld bool
}

// Type is the type of a watch event.
type Type uint8

// The types of a watch event. An ERROR is an [Ended].
const (
	Added Type = iota + 1
	Modified
	Deleted
	Bookmark
)

func (Tick) input()           {}
func (Listed) input()         {}
func (ListFailed) input()     {}
func (Opened) input()         {}
func (*Seen) input()          {}
func (Ended) input()          {}
func (Answered) input()       {}
func (MetadataListed) input() {}
func (Compared) input()       {}
func (ListWanted) input()     {}
func (SinkRefused) input()    {}
func (Stopped) input()        {}
