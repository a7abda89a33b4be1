package reflector

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
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
	obj, ok := d.known.Get(key)
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
