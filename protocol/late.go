package protocol

import (
	"errors"

	"github.com/relist-go/relist/object"
)

// lateFate says what becomes of an event that is older than the resume version. If the sink holds the same object at a version that is
// older still, the event is applied. If the sink holds the object at this version or a later one, or if the event deletes an
// object that the sink does not hold, the event is ignored. In every other case the server is asked, because the event does not
// say enough. For example, an ADDED may be about an object that the sink does not hold. Then the object may have been deleted
// since, or the reflector may have got access to it just now, as in OpenShift's projects
// (https://github.com/openshift/api/issues/2064).
func (m *Machine) lateFate(e *Seen, same bool) fate {
	item := e.Item
	switch {
	case same && object.Older(item.Held.ResourceVersion, item.Meta.ResourceVersion),
		same && e.Type == object.Deleted && item.Held.ResourceVersion == item.Meta.ResourceVersion: // some servers send a deletion at the version that the object had
		return toSink
	case same && object.IsComparable(item.Held.ResourceVersion),
		e.Type == object.Deleted && m.rules.SinkTells && (!item.IsHeld || object.DifferentUID(item.Held.UID, item.Meta.UID)):
		return inSink
	}
	return tooLate
}

var errLate = errors.New("the event is older than the resume version, and what the sink holds does not tell whether the event is still true")
