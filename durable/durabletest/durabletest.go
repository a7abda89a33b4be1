// Package durabletest checks that a program's own [durable.Copy] keeps what the interface promises.
// It is a package of its own so that programs do not link package testing.
//
//	func TestCopy(t *testing.T) {
//		durabletest.Test(t, func(t testing.TB) durabletest.Place[*listwatch.Raw] {
//			file := filepath.Join(t.TempDir(), "copy")
//			return durabletest.Place[*listwatch.Raw]{
//				Open: func() (durable.Copy[*listwatch.Raw], func()) { c := mycopy.New(file); return c, c.Close },
//				Rows: func() []durabletest.Row { return readAll(t, file) },
//			}
//		})
//	}
package durabletest

import (
	"sync"
	"testing"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// Place is where one copy is kept: a file, a table, a schema of a database. Its functions are
// called from one goroutine at a time, that of the test.
type Place[T object.Object] struct {
	// Open opens the copy as another process would: it shares nothing with a Copy that was opened
	// before, except the place. If the place is empty, it may prepare it. Up to three Copies are
	// open at a time.
	//
	// kill ends the Copy as the end of its process would: what is committed stays, a transaction
	// that is open is rolled back, and no lock stays behind. The test calls kill once for each
	// Copy, while no method of the Copy runs.
	Open func() (c durable.Copy[T], kill func())

	// Rows reads all rows at one moment, in any order, as a program that queries the copy does. It
	// is also called while a transaction is open or is being committed. It then returns what is
	// committed.
	Rows func() []Row
}

// Row is one row of a copy.
type Row struct {
	Meta   object.Meta
	Object []byte // its JSON; members may be in any order, and numbers in any notation
}

// Test checks a Copy, in subtests that are named for what they check. newPlace makes an empty
// place, which the test does not use after t has ended; newPlace is called some dozens of times.
// The objects are ConfigMaps with additional members of all sorts. They are made with
// json.Unmarshal into a T, and a row must have what json.Marshal makes of that T.
//
// Test calls the Copy as a [durable.Mirror] does, also as one that fails in the middle of a
// transaction, or whose process ends there. What a Mirror makes of a Copy that keeps its promises
// is tested in package durable. Test uses real time, because a Copy may need it, but waits for
// nothing except the Copy.
func Test[T object.Object](t *testing.T, newPlace func(t testing.TB) Place[T]) {
	for _, c := range checks[T]() {
		t.Run(c.name, func(t *testing.T) { c.run(t, newPlace) })
	}
}

// check is one subtest.
type check[T object.Object] struct {
	name string
	do   func(*rig[T])
}

func (c check[T]) run(t testing.TB, newPlace func(t testing.TB) Place[T]) {
	c.do(newRig(t, newPlace))
}

func checks[T object.Object]() []check[T] {
	return []check[T]{
		{"EmptyPlace", emptyPlace[T]},
		{"State", states[T]},
		{"FencedByEpoch", fencedByEpoch[T]},
		{"FencedByVersion", fencedByVersion[T]},
		{"FencedAtEmptyPlace", fencedAtEmptyPlace[T]},
		{"OtherMembersDoNotFence", otherMembersDoNotFence[T]},
		{"TwoBeginAtOnce", twoBeginAtOnce[T]},
		{"TransactionExcludes", transactionExcludes[T]},
		{"WriteOrder", writeOrder[T]},
		{"MetaIsTheRows", metaIsTheRows[T]},
		{"WriteKeepsNoSlice", writeKeepsNoSlice[T]},
		{"OddKeys", oddKeys[T]},
		{"KeysInPages", keysInPages[T]},
		{"HeldInOrder", heldInOrder[T]},
		{"Many", many[T]},
		{"ReadsOwnWrites", inLists(readsOwnWrites[T])},
		{"Rollback", inLists(rollback[T])},
		{"LoadRollsBack", inLists(loadRollsBack[T])},
		{"KillRollsBack", inLists(killRollsBack[T])},
		{"CommitIsAtomic", commitIsAtomic[T]},
		{"ContextEnds", contextEnds[T]},
		{"Objects", objects[T]},
		{"BigObjects", bigObjects[T]},
	}
}

// rig is one place under test.
type rig[T object.Object] struct {
	testing.TB
	newPlace func(testing.TB) Place[T]
	place    Place[T]
	list     bool // transactions belong to a list
}

func newRig[T object.Object](t testing.TB, newPlace func(testing.TB) Place[T]) *rig[T] {
	return &rig[T]{TB: t, newPlace: newPlace, place: newPlace(t)}
}

// inLists makes a check that does it twice: at a place whose transactions are of events, and at one
// whose transactions are of lists.
func inLists[T object.Object](do func(*rig[T])) func(*rig[T]) {
	return func(r *rig[T]) {
		do(r)
		lists := newRig(r.TB, r.newPlace)
		lists.list = true
		do(lists)
	}
}

// open opens the place. The Copy is killed at the end of the test if it was not before.
func (r *rig[T]) open() *opened[T] {
	r.Helper()
	c, kill := r.place.Open()
	o := &opened[T]{rig: r, Copy: c, kill: sync.OnceFunc(kill)}
	r.Cleanup(o.kill)
	return o
}
