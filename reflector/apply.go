package reflector

import (
	"cmp"
	"fmt"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// change is what the driver passes to the sink, and to Trace, for an event or the answer to a
// refetch.
type change[T any] struct {
	source.Event[T]
	answer bool // apply then sets Type as if it were an event
	asOf   string
}

// apply gives a change to the sink.
func (d *driver[T]) apply(how protocol.Apply) error {
	d.sinkCalled = true
	e := &d.change
	c := Change[T]{Op: how, Meta: e.Meta, Object: e.Object, Refetched: e.answer, AsOf: cmp.Or(e.asOf, e.Meta.ResourceVersion)}
	var as object.EventType
	switch how {
	case protocol.Add:
		as = object.Added
	case protocol.Update:
		as = object.Modified
	case protocol.Delete:
		as = object.Deleted
	case protocol.InferDelete:
		as = object.Deleted
		held, ok := d.held(e.Meta.Key)
		if !ok {
			return nil // the sink does not say what it holds; or its consumer has deleted the object since
		}
		c.Meta, c.Object = held, *new(T)
	case protocol.Resync, protocol.Resumed:
		return d.sink.Apply(Change[T]{Op: how})
	}
	if e.answer {
		e.Type = as
	}
	if err := d.sink.Apply(c); err != nil {
		return fmt.Errorf("apply %v of %s at resourceVersion %s: %w", e.Type, e.Meta.Key, e.Meta.ResourceVersion, err)
	}
	return nil
}

// maxExpected is how many keys the driver announces to the sink in one call.
const maxExpected = 256

// reusable returns the object that the sink holds under key, and its metadata. A list calls it for
// each item: if the sink holds the same version, the list does not decode the item.
func (d *driver[T]) reusable(key string) (T, object.Meta, bool) {
	obj, ok := d.holder.Get(key)
	if !ok {
		return obj, object.Meta{}, false
	}
	return obj, metaOf(key, obj), true
}

// held returns the metadata of what the sink holds under key. It returns false if there is
// nothing, or if the sink does not say.
func (d *driver[T]) held(key string) (object.Meta, bool) {
	if d.holder == nil || key == "" {
		return object.Meta{}, false
	}
	return d.holder.Meta(key)
}

// item returns what the machine has to know about an object that came: its metadata, its
// error, and what the sink holds under its key.
func (d *driver[T]) item(meta object.Meta, bad *source.ObjectError) protocol.Item {
	item := protocol.Item{Meta: meta}
	if bad != nil {
		item.Err = bad
	}
	item.Held, item.IsHeld = d.held(meta.Key)
	return item
}

// expect announces to the sink that the driver will ask for n keys.
func (d *driver[T]) expect(n int, key func(i int) string) {
	if d.holder == nil {
		return
	}
	d.keys = d.keys[:0]
	for i := range n {
		if k := key(i); k != "" {
			d.keys = append(d.keys, k)
		}
	}
	d.holder.Expect(d.keys)
}
