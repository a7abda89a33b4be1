package deltafifo

import "fmt"

// Type says what happened to an object.
type Type uint8

const (
	// Added is an object that a watch reported as new.
	Added Type = iota + 1
	// Updated is an object that a watch reported as modified.
	Updated
	// Deleted is an object that is gone. A watch reported the deletion, or, if the delta has a
	// Tombstone, it was inferred.
	Deleted
	// Replaced is an object that a list contained. It may be new, changed or the same as before.
	Replaced
	// Sync is a known object that a resync queued again. It has not changed.
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

	// Object is the state of the object after the change, or, for Deleted, its last known state.
	Object T

	// Tombstone is set if the deletion was inferred, usually from a list that lacks the object, or
	// if the object's final state could not be read. It is nil in every other delta.
	Tombstone *DeletedFinalStateUnknown[T]
}

// DeletedFinalStateUnknown stands for an object whose deletion no watch has reported. Object is the
// last known state. The final state and the time of the deletion are not known.
type DeletedFinalStateUnknown[T any] struct {
	Key    string
	Object T
}

// Entry holds all deltas that waited for one key. Pop passes it to its process function.
type Entry[T any] struct {
	Key string

	// Deltas has at least one element, oldest first. The process function may keep and change the
	// slice.
	Deltas []Delta[T]

	// Initial is true if the entry is part of the first Replace.
	Initial bool
}
