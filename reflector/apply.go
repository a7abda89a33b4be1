package reflector

import (
	"fmt"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector/internal/protocol"
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
		e.Type = as // an answer is told as the event that it stands for
	}
	if err != nil {
		return fmt.Errorf("apply %v of %s at resourceVersion %s: %w", e.Type, e.Meta.Key, e.Meta.ResourceVersion, err)
	}
	return nil
}

// deleteInferred deletes an object that the sink holds, and whose final state nobody has seen.
func (d *driver[T]) deleteInferred(key string) error {
	obj, _, ok := d.holds(key)
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
	var err error
	switch {
	case !eff.KeepUnlisted:
		err = d.sink.Replace(items, eff.Version)
	case d.sink.keys != nil && d.sink.get != nil:
		err = d.sink.Replace(append(items, d.unlisted(s.list)...), eff.Version)
	default:
		// Nobody can say what the sink holds beside these, so nothing is replaced.
		for _, obj := range items {
			if err = d.sink.Add(obj); err != nil {
				break
			}
		}
	}
	d.trace.ListDone(ListDone{
		ResourceVersion: eff.Version,
		Items:           len(s.list.Items),
		Pages:           s.list.Pages,
		Duration:        s.took,
		Err:             err,
	})
	for _, bad := range s.list.Errors {
		d.trace.Problem(Problem{Class: ObjectProblem, Key: bad.Meta.Key, Err: bad})
	}
	if err != nil {
		return fmt.Errorf("replace the sink's objects with a list of %d at resourceVersion %s: %w", len(items), eff.Version, err)
	}
	// A list is marked also if it brings no later version, and before those who wait for it are told.
	if d.sink.mark != nil && !object.Any(eff.Version) {
		d.marked = eff.Version
		d.sink.mark(eff.Version)
	}
	return nil
}

// unlisted returns what the sink holds and a list lacks.
func (d *driver[T]) unlisted(list *listwatch.List[T]) []T {
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
		if obj, _, ok := d.holds(key); ok && !listed[key] {
			unlisted = append(unlisted, obj)
		}
	}
	return unlisted
}
