package reflector

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// fold gives each item of a list to a protocol.Fold, which sums up what the machine has
// to know about the list. If an item cannot be used, fold also collects the sink's
// object of the same key, because that object must stay.
func (d *driver[T]) fold(s *subject[T]) protocol.Sum {
	if p := s.parts; p != nil {
		s.list.Errors = p.errors
		return p.fold.Sum(s.list.ResourceVersion, s.list.Pages, p.reused)
	}
	reused := s.list.Reused > 0
	fold := d.machine.Fold(reused)
	for i := range s.list.Items {
		meta, ok := s.list.Meta(i)
		if !ok {
			fold.Anonymous()
			continue
		}
		item := protocol.Item{Meta: meta}
		if fold.NeedsHeld() {
			item.Held, item.IsHeld = d.held(meta.Key)
		}
		fold.Item(item)
	}
	for _, bad := range s.list.Errors {
		item := d.item(bad.Meta, bad)
		if !fold.Bad(item) {
			continue
		}
		if obj, ok := d.holds(bad.Meta.Key); ok {
			s.kept = append(s.kept, obj)
		} else {
			s.keep = append(s.keep, bad.Meta.Key)
		}
	}
	return fold.Sum(s.list.ResourceVersion, s.list.Pages, reused)
}

// initialEvents puts a list together from the initial events of a watch, in the order in
// which the server sent them.
type initialEvents[T any] struct {
	places map[string]int // key to its place in events
	events []listwatch.Event[T]
}

func newInitialEvents[T any]() *initialEvents[T] {
	return &initialEvents[T]{places: map[string]int{}}
}

// add takes an event. If an earlier event had the same key, the new event takes its place.
func (c *initialEvents[T]) add(e listwatch.Event[T]) {
	place, ok := c.places[e.Meta.Key]
	if !ok || e.Meta.Key == "" {
		c.places[e.Meta.Key] = len(c.events)
		c.events = append(c.events, e)
		return
	}
	c.events[place] = e
}

// list returns the state after all events.
func (c *initialEvents[T]) list(version string) *source.List[T] {
	list := &source.List[T]{ResourceVersion: version}
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

// compare gives each object of the server, and then each key that only the sink has, to
// the machine's comparison.
func (d *driver[T]) compare() protocol.Differences {
	comparison := d.machine.Comparison()
	listed := make(map[string]bool, len(d.metadata.list.Items))
	for i := range d.metadata.list.Items {
		if i%maxExpected == 0 {
			d.expectItems(d.metadata.list.Meta, i, len(d.metadata.list.Items))
		}
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
	list  *source.List[*metav1.PartialObjectMetadata]
	asked time.Time
}
