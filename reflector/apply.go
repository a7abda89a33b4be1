package reflector

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// deleteInferred deletes an object that the sink holds, and whose final state nobody has
// seen.
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

// fold tells the machine's fold of a list each of its items, and remembers the objects
// of the sink that stay: those that are in the list and cannot be used.
func (d *driver[T]) fold(s *subject[T]) protocol.Sum {
	fold := d.machine.Fold(s.list.ResourceVersion, s.list.Pages, s.list.Reused > 0)
	for i := range s.list.Items {
		meta, ok := s.list.Meta(i)
		if !ok {
			fold.Anonymous()
			continue
		}
		item := protocol.Item{Meta: meta}
		if fold.NeedsHeld() {
			_, item.Held, item.IsHeld = d.holds(meta.Key)
		}
		fold.Item(item)
	}
	for _, bad := range s.list.Errors {
		item := d.item(bad.Meta, bad)
		if obj, _, ok := d.holds(bad.Meta.Key); fold.Bad(item) && ok {
			s.kept = append(s.kept, obj)
		}
	}
	return fold.Sum()
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

// compare tells the machine's comparison each object of the server, and each key that
// the sink holds beside them.
func (d *driver[T]) compare() protocol.Differences {
	comparison := d.machine.Comparison()
	listed := make(map[string]bool, len(d.metadata.list.Items))
	for i := range d.metadata.list.Items {
		meta, _ := d.metadata.list.Meta(i)
		listed[meta.Key] = true
		comparison.Item(d.item(meta, nil))
	}
	for _, bad := range d.metadata.list.Errors {
		listed[bad.Meta.Key] = true
		comparison.Bad(bad.Meta.Key)
	}
	for _, key := range d.sink.keys() {
		if !listed[key] {
			comparison.Missing(key)
		}
	}
	return comparison.Differences()
}

// metadata is the list of a verification.
type metadata struct {
	list  *listwatch.List[*metav1.PartialObjectMetadata]
	asked time.Time
}

// initialEvents puts a list together from the initial events of a watch, in the order in
// which the server sent them.
type initialEvents[T any] struct {
	places map[string]int // of a key, in events
	events []listwatch.Event[T]
}

func newInitialEvents[T any]() *initialEvents[T] {
	return &initialEvents[T]{places: map[string]int{}}
}

// add takes an event. A change that comes before the end of the initial events takes
// the place of its object.
func (c *initialEvents[T]) add(e listwatch.Event[T]) {
	place, ok := c.places[e.Meta.Key]
	if !ok || e.Meta.Key == "" {
		c.places[e.Meta.Key] = len(c.events)
		c.events = append(c.events, e)
		return
	}
	c.events[place] = e
}

// list returns what there is after all events.
func (c *initialEvents[T]) list(version string) *listwatch.List[T] {
	list := &listwatch.List[T]{ResourceVersion: version}
	for _, e := range c.events {
		switch {
		case e.Type == listwatch.Deleted && e.Meta.Key != "":
		case e.Err != nil:
			list.Errors = append(list.Errors, e.Err)
		case e.Type == listwatch.Deleted:
		default:
			list.Items, list.Metas = append(list.Items, e.Object), append(list.Metas, e.Meta)
		}
	}
	return list
}
