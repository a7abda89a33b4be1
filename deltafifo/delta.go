package deltafifo

import "fmt"

// Type says what happened to an object.
type Type uint8

const (
	// Added is an object that a watch reported as new.
	Added Type = iota + 1
	// Updated is an object that a watch reported as modified.
	Updated
	// Deleted is an object that is gone: a watch said so, or, when the delta has a Tombstone, a list lacked it.
	Deleted
	// Replaced is an object that a list contained. It may be new, changed or the same as before.
	Replaced
	// Sync is a known object that comes again because of a resync. Nothing has happened to it.
	Sync
)

var typeNames = [...]string{Added: "Added", Updated: "Updated", Deleted: "Deleted", Replaced: "Replaced", Sync: "Sync"}

func (t Type) String() string {
	if t == 0 || int(t) >= len(typeNames) {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return typeNames[t]
}

// Delta is one thing that happened to an object.
type Delta[T any] struct {
	Type Type

	// Object is the state of the object after the change, or for Deleted the last one known.
	Object T

	// Tombstone is set when the deletion was inferred, as a rule from a list that lacks the object, or when its final state
	// could not be read. It is nil in every other delta.
	Tombstone *DeletedFinalStateUnknown[T]
}

// DeletedFinalStateUnknown says that an object was deleted while no watch was looking: Obj is the last state that was
// seen, and nobody knows in what state it was deleted, or when.
type DeletedFinalStateUnknown[T any] struct {
	Key string
	Obj T
}

// Entry is what Pop hands over: everything that waited for one key.
type Entry[T any] struct {
	Key string

	// Deltas has at least one element, oldest first. It belongs to whoever received the entry.
	Deltas []Delta[T]

	// Initial is true if the entry is part of the first Replace.
	Initial bool
}
