package protocol

import (
	"maps"

	"github.com/relist-go/relist/object"
)

// fences has a version for some keys: the fence of that key. An ask has brought the state of the key as of this version, and
// the resume point has not reached the version yet. The events of the key up to its fence are not newer than the object that
// the sink holds, so the machine ignores them.
//
// An answer raises a fence. When the resume point reaches the version of a fence, the fence is removed. A list removes all fences.
// If another server may answer by now, the machine asks again for the keys that have a fence.
type fences map[string]string

// fence raises a fence: an ask has brought the state of the key as of a version that the watch has not reached.
func (m *Machine) fence(key, version string) {
	if !object.Older(m.resume, version) {
		return
	}
	if m.fences == nil {
		m.fences = fences{}
	}
	m.fences[key] = version
}

// fenced reports whether an ask has already brought this version of the object, or a later one.
func (m *Machine) fenced(meta object.Meta) bool {
	if len(m.fences) == 0 {
		return false
	}
	fence, ok := m.fences[meta.Key]
	return ok && (meta.ResourceVersion == fence || object.Older(meta.ResourceVersion, fence))
}

// moveResume moves the resume point, and removes the fences that it has reached. It makes a new map, because the old one is needed
// if the sink refuses this step.
func (m *Machine) moveResume(to string) {
	m.resume = to
	reached := func(_, fence string) bool { return !object.Older(to, fence) }
	for key, fence := range m.fences { // the order does not matter: one fence that is reached is enough
		if reached(key, fence) {
			m.fences = maps.Clone(m.fences)
			maps.DeleteFunc(m.fences, reached)
			return
		}
	}
}

// floor returns the highest of the resume point and all fences. No list may be older than this version, because the sink already
// has a list, an event or an answer of this version.
func (m *Machine) floor() string {
	floor := m.resume
	for _, fence := range m.fences { // the order does not matter for a maximum
		floor = object.Newer(floor, fence)
	}
	return floor
}
