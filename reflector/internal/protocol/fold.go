package protocol

import (
	"github.com/relist-go/relist/object"
)

// Sum is all that the machine wants to know of a list.
type Sum struct {
	Version string
	Pages   int
	Items   int    // that can be used
	Recent  recent // the newest of them

	// Bad are the items with a name that cannot be used, as many as the quarantine looks after. MoreBad is how many there
	// are beyond those, and Nameless how many have no readable name.
	Bad               []Item
	MoreBad, Nameless int

	// Unnamed says why the first item without a readable name cannot be used; nil if there is none.
	Unnamed error

	// Conflict says why objects that were taken from the sink, instead of decoding them again, may not be what the server
	// has; nil if nothing says so.
	Conflict error
}

// Fold makes a [Sum] of a list, item by item.
type Fold struct {
	m      *Machine
	reused bool
	sum    Sum
}

// Fold begins with a list at a version, of which some objects were taken from the sink if reused is set.
func (m *Machine) Fold(version string, pages int, reused bool) *Fold {
	f := &Fold{m: m, reused: reused, sum: Sum{Version: version, Pages: pages}}
	if reused && object.Older(version, m.floor()) {
		_, f.sum.Conflict = advance(m.floor(), version)
	}
	return f
}

// NeedsHeld reports whether Item wants to know what the sink holds. Bad always does.
func (f *Fold) NeedsHeld() bool { return f.reused }

// Item takes an item that can be used.
//
// Whether the server's storage went back is known only once the list is here. It did if an object that has not changed since
// the resume point is not as it is held.
func (f *Fold) Item(item Item) {
	f.sum.Items++
	version := item.Meta.ResourceVersion
	f.sum.Recent.listed(item.Meta)
	if !f.reused || f.sum.Conflict != nil || !item.IsHeld || sameVersion(item) {
		return
	}
	if object.Ordered(version) && !object.Older(f.m.resume, version) && !f.m.unsettled(item.Meta.Key) {
		f.sum.Conflict = otherVersion(item)
	}
}

// Anonymous takes an item that can be used and does not tell which object it is.
func (f *Fold) Anonymous() { f.sum.Items++ }

// Bad takes an item that cannot be used. It reports whether the object that the sink holds under that key stays: it has not
// been deleted.
func (f *Fold) Bad(item Item) (keep bool) {
	if item.Meta.Key != "" && object.Ordered(item.Meta.ResourceVersion) {
		f.sum.Recent.listed(item.Meta)
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
	return item.IsHeld && !object.Another(item.Held.UID, item.Meta.UID)
}

// Sum returns what there is to say.
func (f *Fold) Sum() Sum { return f.sum }
