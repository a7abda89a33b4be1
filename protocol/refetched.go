package protocol

import (
	"maps"

	"github.com/relist-go/relist/object"
)

// refetchVersions has a version for some keys: the refetch version of that key. A refetch has brought the state of the key as of
// this version, and the resume version has not reached the version yet. The events of the key up to its refetch version are not
// newer than the object that the sink holds, so the machine ignores them.
//
// An answer records a refetch version. When the resume version reaches the version of a refetch version, the refetch version is
// removed. A list removes all refetch versions. If another server may answer by now, the machine asks again for the keys that have
// a refetch version.
type refetchVersions map[string]string

// noteRefetched records a refetch version: a refetch has brought the state of the key as of a version that the watch has not reached.
func (m *Machine) noteRefetched(key, version string) {
	if !object.Older(m.resume, version) {
		return
	}
	if m.refetchVersions == nil {
		m.refetchVersions = refetchVersions{}
	}
	m.refetchVersions[key] = version
}

// refetched reports whether a refetch has already brought this version of the object, or a later one.
func (m *Machine) refetched(meta object.Meta) bool {
	if len(m.refetchVersions) == 0 {
		return false
	}
	upTo, ok := m.refetchVersions[meta.Key]
	return ok && (meta.ResourceVersion == upTo || object.Older(meta.ResourceVersion, upTo))
}

// moveResume moves the resume version, and removes the refetch versions that it has reached. It makes a new map, because the old
// one is needed if the sink refuses this step.
func (m *Machine) moveResume(to string) {
	m.resume = to
	reached := func(_, upTo string) bool { return !object.Older(to, upTo) }
	for key, upTo := range m.refetchVersions { // the order does not matter: one refetch version that is reached is enough
		if reached(key, upTo) {
			m.refetchVersions = maps.Clone(m.refetchVersions)
			maps.DeleteFunc(m.refetchVersions, reached)
			return
		}
	}
}

// floor returns the highest of the resume version and all refetch versions. No list may be older than this version, because the
// sink already has a list, an event or an answer of this version.
func (m *Machine) floor() string {
	floor := m.resume
	for _, upTo := range m.refetchVersions { // the order does not matter for a maximum
		floor = object.Newer(floor, upTo)
	}
	return floor
}
