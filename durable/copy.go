package durable

import (
	"context"
	"errors"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// Copy is where the rows of one resource are kept together with their [State], for example a table
// of a database. The conformance test for a Copy is package durabletest.
//
// A [Mirror] calls it, and the transactions that it begins, from one goroutine at a time. At most
// one transaction is open. If a method returns an error, the Mirror drops what it has not
// committed, and begins again with Load after a pause. An error must never be about one object. If
// a Copy cannot store some object, the program must refuse that object before it gets to the Copy,
// see [Mirror].
type Copy[T any] interface {
	// Load returns the state of the last commit, or the zero State if there has been none. It rolls
	// back a transaction that is still open, and connects to the database again if that is needed:
	// after an error of any method, Load is the next call.
	Load(ctx context.Context) (State, error)

	// Held returns what identifies the row of each key, in the order of keys, and the zero Meta for
	// a key that has no row. If a transaction is open, Held sees what it has written.
	Held(ctx context.Context, keys []string) ([]object.Meta, error)

	// Keys returns the keys of the rows, in ascending order of bytes: at most limit keys, all of
	// them greater than after. It returns none if there are no more. If a transaction is open, Keys
	// sees what it has written.
	Keys(ctx context.Context, after string, limit int) ([]string, error)

	// Begin begins a transaction. It returns an error that is [ErrFenced] if the state of the last
	// commit has another Epoch or another Point.Version than current: then another program writes
	// to the rows. From here to Commit or Rollback, no other program can change the state. (In SQL:
	// an UPDATE of the state's row with both values in its WHERE, as the first statement.)
	//
	// list says that the transaction belongs to a list. A change that a list brings has happened at
	// some time between the version of current and that of the commit, so a Copy with a history
	// records a gap.
	Begin(ctx context.Context, current State, list bool) (Tx[T], error)
}

// Tx is a transaction of a [Copy].
type Tx[T any] interface {
	// Write makes changes, in their order. One key may occur more than once. A Put of a key that
	// has a row replaces the row; a deletion of a key that has none does nothing. Write does not
	// keep the slice.
	Write(ctx context.Context, changes []Change[T]) error

	// Commit makes the changes and the new state durable, both or neither. Readers see all of it at
	// once. If Commit returns an error, nobody knows whether it has happened, and the Mirror finds
	// out with Load. After Commit the transaction is over.
	Commit(ctx context.Context, next State) error

	// Rollback drops the changes. After that the transaction is over.
	Rollback() error
}

// ErrFenced says that another program writes to the copy: it has opened the copy later, so this one
// must stop.
var ErrFenced = errors.New("another program has opened the copy, and writes to it now")

// Change is one change of a row.
type Change[T any] struct {
	// Meta identifies the object, as the server sent it. If the object was deleted while nobody
	// looked, Meta is what the row said.
	Meta object.Meta

	// Object is the object, or its last state if it was deleted. It is the zero T if nobody has
	// seen that state.
	Object T

	// Op says what has happened.
	Op Op
}

// Op says what a [Change] does to a row, and how that was learned.
type Op uint8

const (
	// Put writes the object.
	Put Op = iota + 1

	// Deleted means that the server said that the object was deleted, or that it no longer matches
	// the selectors. The server does not tell the two apart.
	Deleted

	// Inferred means that the object is gone, and nobody has seen its last state. A list lacks it,
	// or another object has its name.
	Inferred

	// Unselected means that a list lacks the object, and the copy had other selectors before. So
	// nobody knows whether the object is gone.
	Unselected
)

// String returns a word for a column of a table.
func (h Op) String() string {
	switch h {
	case Put:
		return "put"
	case Deleted:
		return "deleted"
	case Inferred:
		return "inferred"
	case Unselected:
		return "unselected"
	}
	return "unknown"
}

// State is what a [Copy] keeps beside its rows. Epoch and Point.Version are what a Begin compares;
// the rest may be kept as one JSON value.
type State struct {
	// Epoch counts how often the copy was opened. It is 0 before the first time.
	Epoch int64 `json:"epoch"`

	// Claim and Writer say which Run or [RunAll] has opened the copy: a number that grows from one
	// to the next, and a random text. If several programs open the copy at the same time, the
	// highest Claim keeps it, and the greatest Writer among equal ones.
	Claim  int64  `json:"claim,omitempty"`
	Writer string `json:"writer,omitempty"`

	// Point is the place in the server's history that the rows are at. If Point.Version is empty,
	// there is no such place: a list is being written, and rows are of different times. Or it is
	// not known whether the server is the same as before, see Options.BatchRows.
	Point reflector.Point `json:"point"`

	// Stream is what the rows are of.
	Stream Stream `json:"stream"`

	// Unselected says that some rows may not match the selectors, because the copy had other
	// selectors before. The next whole list ends this.
	Unselected bool `json:"unselected,omitempty"`

	// Reshaped says that the rows of unsure keys may be of another Stream.Shape or Stream.Version:
	// these have changed since, and the objects could not be decoded. It ends with the last of
	// these unsure keys.
	Reshaped bool `json:"reshaped,omitempty"`
}

// Stream says what a copy is of. A copy of another cluster or another resource is refused; if
// anything else differs, the copy is listed again.
type Stream struct {
	// Cluster identifies the cluster, see [ClusterUID]. A copy of one cluster is never mixed with
	// another.
	Cluster string `json:"cluster"`

	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`

	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
	ShardSelector string `json:"shardSelector,omitempty"`

	// Shape says how an object becomes a row: which members are dropped, which columns there are.
	// If the shape has changed, no row is reused, and each one is written again. An object that
	// cannot be decoded keeps its row of the former shape; its key is an unsure key until the row
	// is written.
	Shape string `json:"shape,omitempty"`
}
