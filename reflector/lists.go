package reflector

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// incoming is a list that arrives in parts, or that has arrived and is not used yet. The driver
// gives each part to the sink, and to a protocol.Fold, which sums up what the machine has to know
// about the list. At the end, the machine decides whether to use the list.
type incoming[T any] struct {
	into   Replacement[T]
	fold   *protocol.Fold
	items  int  // that can be used
	reused bool // the sink holds one of them in the same version
	keep   []string
	errors []*source.ObjectError
	err    error // of the sink; the list is then read to its end, and not used

	pages int
	took  time.Duration // until it was whole
}

// beginList begins a list. reuse says that the sink's objects may be used again.
func (d *driver[T]) beginList(reuse bool) {
	d.list = &incoming[T]{into: d.sink.BeginList(reuse), fold: d.machine.Fold(reuse)}
}

// dropList drops the list that the sink is getting, if there is one.
func (d *driver[T]) dropList() {
	if d.list != nil {
		d.list.into.Drop()
		d.list = nil
	}
}

// takePart gives a part of the list to the fold and to the sink.
func (d *driver[T]) takePart(part source.Part[T]) {
	if part.Again {
		reuse := d.list.fold.NeedsHeld()
		d.dropList()
		d.beginList(reuse)
		return
	}
	if part.Reconnected {
		d.list.fold.Reconnected()
	}
	metas := part.Metas
	if len(metas) != len(part.Items) { // not every ListWatcher has them
		metas = make([]object.Meta, len(part.Items))
		for i := range metas {
			metas[i], _ = part.Meta(i)
		}
	}
	for from := 0; from < len(metas); from += maxExpected {
		to := min(from+maxExpected, len(metas))
		d.takeItems(part.Items[from:to], metas[from:to])
	}
	for _, bad := range part.Errors {
		if d.list.fold.Bad(d.item(bad.Meta, bad)) {
			d.list.keep = append(d.list.keep, bad.Meta.Key)
		}
	}
	d.list.errors = append(d.list.errors, part.Errors...)
}

// takeItems takes no more items than the sink can be asked for in one call.
func (d *driver[T]) takeItems(objects []T, metas []object.Meta) {
	l, compare := d.list, d.list.fold.NeedsHeld()
	if compare {
		d.expect(len(metas), func(i int) string { return metas[i].Key })
	}
	for _, meta := range metas {
		if meta.Key == "" {
			l.fold.Anonymous()
			continue
		}
		item := protocol.Item{Meta: meta}
		if compare {
			item.Held, item.IsHeld = d.held(meta.Key)
			l.reused = l.reused || item.IsHeld && item.Held.UID == meta.UID && item.Held.ResourceVersion == meta.ResourceVersion
		}
		l.fold.Item(item)
	}
	l.items += len(objects)
	if l.err == nil {
		l.err = l.into.Part(objects, metas)
	}
}

// listed returns the sum of the list, which is whole now.
func (d *driver[T]) listed(version string, pages int, took time.Duration) protocol.Sum {
	d.list.pages, d.list.took = pages, took
	return d.list.fold.Sum(version, pages, d.list.reused)
}

// replace makes the list the whole state of the sink.
func (d *driver[T]) replace(eff protocol.Replace) error {
	l, err := d.list, d.list.err
	if err != nil {
		d.dropList()
	} else {
		err = l.into.End(eff.Version, l.keep, eff.KeepUnlisted)
	}
	d.list = nil
	d.sinkCalled = true
	d.trace.ListDone(ListDone{ResourceVersion: eff.Version, Items: l.items, Pages: l.pages, Duration: l.took, Err: err})
	for _, bad := range l.errors {
		d.trace.Problem(Problem{Class: protocol.ObjectProblem, Key: bad.Meta.Key, Err: bad})
	}
	if err != nil {
		return fmt.Errorf("replace the sink's objects with a list of %d at resourceVersion %s: %w", l.items, eff.Version, err)
	}
	return nil
}

// initialEvents puts a list together from the initial events of a watch, in the order in
// which the server sent them.
type initialEvents[T any] struct {
	places map[string]int // key to its place in events
	events []source.Event[T]
}

// add takes an event. If an earlier event had the same key, the new event takes its place.
func (c *initialEvents[T]) add(e source.Event[T]) {
	place, ok := c.places[e.Meta.Key]
	if !ok || e.Meta.Key == "" {
		c.places[e.Meta.Key] = len(c.events)
		c.events = append(c.events, e)
		return
	}
	c.events[place] = e
}

// list returns the state after all events.
func (c *initialEvents[T]) list() (list source.Part[T]) {
	for _, e := range c.events {
		switch {
		case e.Type == object.Deleted && e.Meta.Key != "":
		case e.Err != nil:
			list.Errors = append(list.Errors, e.Err)
		case e.Type == object.Deleted:
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
	metas := d.metadata.list.Metas
	listed := make(map[string]bool, len(metas))
	for i, meta := range metas {
		if i%maxExpected == 0 {
			d.expect(min(maxExpected, len(metas)-i), func(n int) string { return metas[i+n].Key })
		}
		listed[meta.Key] = true
		comparison.Item(d.item(meta, nil))
	}
	for _, bad := range d.metadata.list.Errors {
		listed[bad.Meta.Key] = true
		comparison.Bad(bad.Meta.Key)
	}
	for _, key := range d.holder.Keys() {
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
