package reflector

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
)

// apply gives an event to the sink. One that the sink does not take is put aside.
func (d *driver[T]) apply(e listwatch.Event[T]) error {
	if err := d.give(e); err != nil {
		err = fmt.Errorf("apply %v of %s at resourceVersion %s: %w", e.Type, e.Meta.Key, e.Meta.ResourceVersion, err)
		return d.putAside(e, err)
	}
	if d.verification != nil {
		d.verification.touched[e.Meta.Key] = true
	}
	d.wellAgain(e.Meta.Key)
	d.trace.Event(Event{Type: e.Type, Key: e.Meta.Key, UID: e.Meta.UID, ResourceVersion: e.Meta.ResourceVersion})
	return nil
}

// give calls the sink.
//
// A name has one object at a time. If the sink holds another one than the event is
// about, then that was deleted, and nobody said so: a server has lost the event, the
// sink refused it, or the watch began in the middle.
func (d *driver[T]) give(e listwatch.Event[T]) error {
	obj, held, ok := d.holds(e.Meta.Key)
	if ok && another(held.UID, e.Meta.UID) {
		if err := d.bury(obj); err != nil || e.Type == listwatch.Deleted {
			return err
		}
		return d.sink.Add(e.Object)
	}
	switch e.Type {
	case listwatch.Added:
		return d.sink.Add(e.Object)
	case listwatch.Modified:
		return d.sink.Update(e.Object)
	case listwatch.Deleted:
		switch {
		case e.Err == nil:
			return d.sink.Delete(e.Object)
		case ok: // its final state cannot be decoded
			return d.bury(obj)
		}
		return nil
	case listwatch.Bookmark:
	}
	panic("reflector: unreachable: the machine applies no bookmark, and listwatch has no other types")
}

// bury deletes an object that the sink holds and whose final state nobody has seen.
func (d *driver[T]) bury(obj T) error {
	if sink, ok := d.sink.Sink.(Inferrer[T]); ok {
		return sink.DeleteInferred(obj)
	}
	return d.sink.Delete(obj)
}

// another reports whether two UIDs are known and differ. An object whose UID a
// transform has taken away says nothing.
func another(a, b types.UID) bool { return a != "" && b != "" && a != b }
