package reflector

import (
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// reusable returns what a list may take from the sink in place of decoding it again:
// objects of which it has the same UID and resourceVersion. It is nil where there is
// nothing, and where a version need not mean what it meant: after the server's storage
// was restored from a backup, until a list has been decoded whole.
func (d *driver[T]) reusable() listwatch.Known[T] {
	if d.known == nil || d.state.resume == "" || d.distrusted {
		return nil
	}
	return d.holds
}

// distrust takes note of why the resume point is given up.
func (d *driver[T]) distrust(reason Reason) {
	d.distrusted = d.distrusted || reason == WentBack
}

// reusedInVain says why what a list has taken from the sink may not be what the server
// has, or returns nil. Whether the server went back is known only when the list is here:
// by its version, or by an object that has not changed since the resume point and is not
// what is held.
func (d *driver[T]) reusedInVain(list *listwatch.List[T]) error {
	if list.Reused == 0 {
		return nil
	}
	if floor := d.state.floor(); older(list.ResourceVersion, floor) {
		_, err := advance(floor, list.ResourceVersion)
		return err
	}
	for _, item := range list.Items {
		obj, ok := d.settled(item)
		if !ok {
			continue
		}
		if _, held, ok := d.holds(store.Key(obj)); ok && !sameVersion(obj, held) {
			return otherVersion(obj, held)
		}
	}
	return nil
}
