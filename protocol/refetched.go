package protocol

import (
	"maps"

	"github.com/relist-go/relist/object"
)

// refetchVersions has the refetch version of each key that a refetch has brought ahead of the watch: the answer showed the state of the
// key as of this version.
//
// Why: the watch has not reached that version yet, and will still bring older events of the key. The machine ignores the events up to
// the refetch version, because the sink holds the state of the answer, which is not older.
//
// When it starts: an answer to a refetch is newer than the resume version. When it ends: the resume version reaches the refetch
// version, or a list comes, which removes all of them. If another server may answer from now on, the machine refetches these keys, see
// [Machine.anotherServer].
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

// moveResume moves the resume version, and removes the refetch versions that it has reached.
func (m *Machine) moveResume(to string) {
	m.resume = to
	maps.DeleteFunc(m.refetchVersions, func(_, upTo string) bool { return !object.Older(to, upTo) })
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

// unsettled reports whether the sink's object of a key may be older than the resume version (quarantine) or newer (refetch version).
func (m *Machine) unsettled(key string) bool {
	_, refetched := m.refetchVersions[key]
	return refetched || m.quarantine.entries[key] != nil
}
