package reflector

import (
	"fmt"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// apply gives an event, or the answer to an ask, to the sink.
func (d *driver[T]) apply(how protocol.Apply, s *subject[T]) error {
	e := &s.event
	var err error
	var as listwatch.Type
	switch how {
	case protocol.Add:
		as, err = listwatch.Added, d.sink.Add(e.Object)
	case protocol.Update:
		as, err = listwatch.Modified, d.sink.Update(e.Object)
	case protocol.Delete:
		as, err = listwatch.Deleted, d.sink.Delete(e.Object)
	case protocol.InferDelete:
		as, err = listwatch.Deleted, d.deleteInferred(e.Meta.Key)
	}
	if s.answer {
		e.Type = as // Trace.Event reports an answer as if it were an event of this type
	}
	if err != nil {
		return fmt.Errorf("apply %v of %s at resourceVersion %s: %w", e.Type, e.Meta.Key, e.Meta.ResourceVersion, err)
	}
	return nil
}

// deleteInferred deletes the object that the sink holds. Nobody has seen its final state.
func (d *driver[T]) deleteInferred(key string) error {
	if d.sink.remote != nil {
		meta, ok := d.held(key)
		if !ok {
			return nil
		}
		return d.sink.remote.DeleteMissing(meta)
	}
	obj, ok := d.holds(key)
	if !ok {
		return nil // the consumer has deleted it meanwhile
	}
	if sink, ok := d.sink.Sink.(Inferrer[T]); ok {
		return sink.DeleteInferred(obj)
	}
	return d.sink.Delete(obj)
}

// replace gives a list to the sink.
func (d *driver[T]) replace(eff protocol.Replace, s *subject[T]) error {
	items := s.list.Items
	items = append(items, s.kept...)
	count := len(items)
	var err error
	switch {
	case d.sink.remote != nil:
		count, err = d.endParts(eff, s)
	case !eff.KeepUnlisted:
		err = d.sink.Replace(items, eff.Version)
	case d.sink.keys != nil && d.sink.get != nil:
		err = d.sink.Replace(append(items, d.unlisted(s.list)...), eff.Version)
	default:
		// The objects that the list lacks have to stay, and the sink cannot say which objects it holds. So the driver
		// calls Add for each item, and does not call Replace.
		for _, obj := range items {
			if err = d.sink.Add(obj); err != nil {
				break
			}
		}
	}
	d.trace.ListDone(ListDone{
		ResourceVersion: eff.Version,
		Items:           count - len(s.kept),
		Pages:           s.list.Pages,
		Duration:        s.took,
		Err:             err,
	})
	for _, bad := range s.list.Errors {
		d.trace.Problem(Problem{Class: protocol.ObjectProblem, Key: bad.Meta.Key, Err: bad})
	}
	if err != nil {
		return fmt.Errorf("replace the sink's objects with a list of %d at resourceVersion %s: %w", count, eff.Version, err)
	}
	// The sink gets the mark here, because WaitFor and Relist may return before driver.mark runs. It gets the mark even if
	// the version is the same as before.
	if d.sink.mark != nil && !object.Any(eff.Version) {
		d.marked = eff.Version
		d.sink.mark(eff.Version)
	}
	return nil
}

// unlisted returns the objects that the sink holds and a list lacks.
func (d *driver[T]) unlisted(list *source.List[T]) []T {
	listed := make(map[string]bool, len(list.Items)+len(list.Errors))
	for i := range list.Items {
		meta, _ := list.Meta(i)
		listed[meta.Key] = true
	}
	for _, bad := range list.Errors {
		listed[bad.Meta.Key] = true
	}
	var unlisted []T
	for _, key := range d.sink.keys() {
		if obj, ok := d.holds(key); ok && !listed[key] {
			unlisted = append(unlisted, obj)
		}
	}
	return unlisted
}
