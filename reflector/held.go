package reflector

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// holds returns the object that the sink holds under key. It returns false if there is
// none, or if the sink is no [Known].
func (d *driver[T]) holds(key string) (T, bool) {
	if d.sink.get == nil || key == "" {
		return *new(T), false
	}
	return d.sink.get(key)
}

// known returns the object that the sink holds under key, and its metadata. A list calls it for each item: if the sink holds the same
// version, the list does not decode the item.
func (d *driver[T]) known(key string) (T, object.Meta, bool) {
	obj, ok := d.holds(key)
	if !ok {
		return obj, object.Meta{}, false
	}
	meta := object.Meta{Key: key}
	if o, ok := any(obj).(identified); ok {
		meta.UID, meta.ResourceVersion = o.GetUID(), o.GetResourceVersion()
	}
	return obj, meta, true
}

// held returns the metadata of what the sink holds under key. It returns false if there is
// nothing, or if the sink does not tell.
func (d *driver[T]) held(key string) (object.Meta, bool) {
	if d.sink.remote != nil && key != "" {
		return d.sink.remote.Meta(key)
	}
	_, meta, ok := d.known(key)
	return meta, ok
}

// identified has the getters of object.Object that identify a version. T may lack them.
type identified interface {
	GetUID() types.UID
	GetResourceVersion() string
}

// item returns what the machine has to know about an object that came: its metadata, its
// error, and what the sink holds under its key.
func (d *driver[T]) item(meta object.Meta, bad *listwatch.ObjectError) protocol.Item {
	item := protocol.Item{Meta: meta}
	if bad != nil {
		item.Err = bad
	}
	item.Held, item.IsHeld = d.held(meta.Key)
	return item
}

// expect announces keys to a remote sink.
func (d *driver[T]) expect(keys []string) {
	if d.sink.remote != nil {
		d.sink.remote.Expect(keys)
	}
}

// expectEvents announces the keys of a batch of events.
func (d *driver[T]) expectEvents(batch []listwatch.Event[T]) {
	keys := make([]string, 0, len(batch))
	for _, e := range batch {
		if e.Meta.Key != "" {
			keys = append(keys, e.Meta.Key)
		}
	}
	d.expect(keys)
}

// expectItems announces the keys of the items that begin at the place from. It looks at no more than maxExpected items, and stops
// before the place end.
func (d *driver[T]) expectItems(meta func(i int) (object.Meta, bool), from, end int) {
	if d.sink.remote == nil {
		return
	}
	keys := make([]string, 0, min(end-from, maxExpected))
	for i := from; i < min(end, from+maxExpected); i++ {
		if m, ok := meta(i); ok && m.Key != "" {
			keys = append(keys, m.Key)
		}
	}
	d.expect(keys)
}
