package reflector

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// identified is what an object has that says which version of which object it is.
type identified interface {
	GetUID() types.UID
	GetResourceVersion() string
}

// holds returns the object that the sink has under key, and which version it is. It
// is false if there is none, or if the sink does not say.
func (d *driver[T]) holds(key string) (T, listwatch.Meta, bool) {
	var none T
	if d.known == nil || key == "" {
		return none, listwatch.Meta{}, false
	}
	obj, ok := d.known(key)
	if !ok {
		return none, listwatch.Meta{}, false
	}
	meta := listwatch.Meta{Key: key}
	if id, ok := any(obj).(identified); ok {
		meta.UID, meta.ResourceVersion = id.GetUID(), id.GetResourceVersion()
	}
	return obj, meta, true
}

// isNews reports whether an event that is older than the resume point tells more of
// its object than the sink knows: the object is there, it is the same one, and its
// version is older still. An object that is not there may have been deleted since.
//
// A deletion is news at the object's own version too: some servers send the last
// state as it was.
func (d *driver[T]) isNews(e listwatch.Event[T]) bool {
	_, held, ok := d.holds(e.Meta.Key)
	switch {
	case !ok || held.UID != e.Meta.UID:
		return false
	case e.Type == listwatch.Deleted && e.Meta.ResourceVersion == held.ResourceVersion:
		return true
	}
	return older(held.ResourceVersion, e.Meta.ResourceVersion)
}

// errOtherHistory is reported when the storage is not the one there was, although it is
// at a later version. A watch that has left an event out looks the same.
var errOtherHistory = errors.New("the server has another history: its storage was restored from a backup, or a watch has left something out")

// otherHistory says why an object of the most recent state cannot be of the history that
// the sink has followed, or returns nil: everything at a version that the resume point has
// passed must be held as it is. Of what has changed since, nothing can be said.
func (d *driver[T]) otherHistory(items []T) error {
	if len(items) == 0 || d.known == nil {
		return nil
	}
	obj, ok := d.settled(items[0])
	if !ok {
		return nil
	}
	_, held, ok := d.holds(store.Key(obj))
	switch {
	case !ok:
		return fmt.Errorf("%w: %s is there at %s, and was not", errOtherHistory, store.Key(obj), obj.GetResourceVersion())
	case !sameVersion(obj, held):
		return otherVersion(obj, held)
	}
	return nil
}

// settled returns an object of the server's if the resume point has passed its version,
// so that the sink should hold it like that. It does not of what is in quarantine.
func (d *driver[T]) settled(item T) (store.Object, bool) {
	obj, ok := any(item).(store.Object)
	if !ok || !wellFormed(obj.GetResourceVersion()) || older(d.state.resume, obj.GetResourceVersion()) {
		return nil, false
	}
	return obj, d.quarantine.patients[store.Key(obj)] == nil
}

// sameVersion reports whether an object may be what is held under its key. A transform
// that clears UIDs or versions leaves nothing to compare.
func sameVersion(obj store.Object, held listwatch.Meta) bool {
	return !another(held.UID, obj.GetUID()) && (held.ResourceVersion == "" || held.ResourceVersion == obj.GetResourceVersion())
}

// otherVersion is the error of an object that is not what is held under its key.
func otherVersion(obj store.Object, held listwatch.Meta) error {
	return fmt.Errorf("%w: %s is at %s, and was at %s", errOtherHistory, held.Key, obj.GetResourceVersion(), held.ResourceVersion)
}
