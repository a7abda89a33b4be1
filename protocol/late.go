package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// A server sends events in the order of their versions. There are two exceptions, and [Machine.event] asks about both: a watch without
// a version begins with the objects that the server has, in no order; and some servers send an event late, behind newer ones.

// unorderedReplay reports whether an event is older than the object that the sink holds, in a watch that began without a version.
// The first events of such a watch are the objects that the server has, in no order.
func (m *Machine) unorderedReplay(item Item) bool {
	return object.IsAnyVersion(m.resume) && item.IsHeld && item.Held.UID == item.Meta.UID &&
		object.Older(item.Meta.ResourceVersion, item.Held.ResourceVersion)
}

// lateEvent decides about an event that is older than the resume version. If the sink holds the same object at a version that is
// older still, the event is applied. If the sink holds the object at this version or a later one, or if the event deletes an
// object that the sink does not hold, the event is ignored. In every other case the server is asked, because the event does not
// say enough. For example, an ADDED may be about an object that the sink does not hold. Then the object may have been deleted
// since, or the reflector may have got access to it just now, as in OpenShift's projects
// (https://github.com/openshift/api/issues/2064).
func (m *Machine) lateEvent(now time.Time, e *Seen) {
	item := e.Item
	same := item.IsHeld && item.Held.UID == item.Meta.UID
	switch {
	case same && object.Older(item.Held.ResourceVersion, item.Meta.ResourceVersion),
		same && e.Type == Deleted && item.Held.ResourceVersion == item.Meta.ResourceVersion: // some servers send a deletion at the version that the object had
		m.takeEvent(now, e)
	case same && object.IsComparable(item.Held.ResourceVersion):
	case e.Type == Deleted && m.rules.SinkTells && (!item.IsHeld || object.DifferentUID(item.Held.UID, item.Meta.UID)):
	default:
		m.quarantine.put(now, m.resume, item, errLate, outOfOrder)
	}
}

var errLate = errors.New("the event is older than the resume version, and what the sink holds does not tell whether the event is still true")
