package protocol

import "github.com/relist-go/relist/object"

// Sum is what the machine has to know about a list.
type Sum struct {
	Version string
	Pages   int
	Items   int    // the number of objects that can be used
	Recent  recent // the newest of these objects; if a later page came over another connection, only of the pages before

	// Reconnected: see [Fold.Reconnected].
	Reconnected bool

	// Bad are the items that have a name and cannot be used, up to the size of the quarantine.
	// MoreBad is the number of such items beyond that. Nameless is the number of items without a
	// readable name.
	Bad               []Item
	MoreBad, Nameless int

	// Unnamed says why the first item without a readable name cannot be used; nil if there is none.
	Unnamed error

	// Conflict says why the list cannot be used; nil if it can. There is a conflict if the list
	// reuses some objects of the sink, and the server may have other objects under these versions.
	Conflict error
}

// Fold makes a [Sum] of a list, item by item.
type Fold struct {
	m     *Machine
	reuse bool
	sum   Sum
}

// Fold begins with a list. reuse says that some of its objects may be taken from the sink.
func (m *Machine) Fold(reuse bool) *Fold { return &Fold{m: m, reuse: reuse} }

// NeedsHeld reports whether Item needs to know what the sink holds. Bad always does.
func (f *Fold) NeedsHeld() bool { return f.reuse }

// Item takes an item that can be used.
//
// A list that reuses objects of the sink has to agree with the sink: an item that is not newer than
// the resume version must be what the sink holds. If it is another version, the server's storage
// rolled back.
func (f *Fold) Item(item Item) {
	f.sum.Items++
	version := item.Meta.ResourceVersion
	f.recent(item)
	if !f.reuse || f.sum.Conflict != nil || !item.IsHeld || sameVersion(item) {
		return
	}
	if object.IsComparable(version) && !object.Older(f.m.resume, version) && !f.m.quarantine.unsettled(item.Meta.Key) {
		f.sum.Conflict = otherThan(item.Held, item.Meta)
	}
}

// Reconnected is called if the connection of the first page was closed, and the next items come
// over a new one. In between, the server's storage may have been restored from a backup. The
// earlier items are then of another history, so the history check asks about them.
func (f *Fold) Reconnected() { f.sum.Reconnected = true }

func (f *Fold) recent(item Item) {
	if !f.sum.Reconnected {
		f.sum.Recent.item(item.Meta)
	}
}

// Anonymous takes an item that can be used although its metadata cannot be read.
func (f *Fold) Anonymous() { f.sum.Items++ }

// Bad takes an item that cannot be used. If the sink holds the same object, Bad returns true: the
// object was not deleted, so the sink keeps it.
func (f *Fold) Bad(item Item) (keep bool) {
	if item.Meta.Key != "" {
		f.recent(item)
	}
	switch {
	case item.Meta.Key == "":
		f.sum.Nameless++
		if f.sum.Unnamed == nil {
			f.sum.Unnamed = item.Err
		}
		return false
	case len(f.sum.Bad) >= maxQuarantined:
		f.sum.MoreBad++
	default:
		f.sum.Bad = append(f.sum.Bad, item)
	}
	return item.IsHeld && !object.DifferentUID(item.Held.UID, item.Meta.UID)
}

// Sum returns the result for a whole list, with the version and the number of pages that it had.
// reused says that some of its objects were taken from the sink. If none was, the list conflicts
// with nothing.
func (f *Fold) Sum(version string, pages int, reused bool) Sum {
	sum := f.sum
	sum.Version, sum.Pages = version, pages
	switch {
	case !reused:
		sum.Conflict = nil
	case object.Older(version, f.m.floor()):
		_, sum.Conflict = advance(f.m.floor(), version)
	}
	return sum
}
