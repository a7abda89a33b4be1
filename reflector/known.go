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

// knownMeta returns a function that says which version of an object a sink holds. It
// knows nothing if the sink does not say, or if its objects have no version.
func knownMeta[T any](sink Sink[T]) func(key string) (listwatch.Meta, bool) {
	known, ok := sink.(Known[T])
	if !ok {
		return func(string) (listwatch.Meta, bool) { return listwatch.Meta{}, false }
	}
	return func(key string) (listwatch.Meta, bool) {
		obj, ok := known.Get(key)
		if !ok {
			return listwatch.Meta{}, false
		}
		id, ok := any(obj).(identified)
		if !ok {
			return listwatch.Meta{}, false
		}
		return listwatch.Meta{Key: key, UID: id.GetUID(), ResourceVersion: id.GetResourceVersion()}, true
	}
}

// isNews reports whether an event that is older than the resume point tells more of
// its object than the sink knows: the object is there, it is the same one, and its
// version is older still. An object that is not there may have been deleted since.
func (d *driver[T]) isNews(e listwatch.Event[T]) bool {
	held, ok := d.known(e.Meta.Key)
	if !ok || held.UID != e.Meta.UID {
		return false
	}
	return older(held.ResourceVersion, e.Meta.ResourceVersion)
}
