package protocol

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// refetchVersions has the refetch version of each key that a refetch has brought ahead of the
// watch: the answer showed the state of the key as of this version.
//
// Why: the watch has not reached that version yet, and will still bring older events of the key.
// The machine ignores the events up to the refetch version, because the sink holds the state of the
// answer, which is not older.
//
// When it starts: an answer to a refetch is newer than the resume version. When it ends: the resume
// version reaches the refetch version, or a list comes, which removes all of them. If another
// server may answer from now on, the machine refetches these keys, see [quarantine.suspect].
type refetchVersions map[string]string

// refetchedTo records a refetch version: a refetch has brought the state of the key as of a version
// that the watch has not reached.
func (q *quarantine) refetchedTo(resume, key, version string) {
	if !object.Older(resume, version) {
		return
	}
	if q.versions == nil {
		q.versions = refetchVersions{}
	}
	q.versions[key] = version
}

// refetched reports whether a refetch has already brought this version of the object, or a later
// one.
func (q *quarantine) refetched(meta object.Meta) bool {
	upTo, ok := q.versions[meta.Key]
	return ok && (meta.ResourceVersion == upTo || object.Older(meta.ResourceVersion, upTo))
}

// reached removes the refetch versions that the resume version has reached.
func (q *quarantine) reached(resume string) {
	maps.DeleteFunc(q.versions, func(_, upTo string) bool { return !object.Older(resume, upTo) })
}

// furthest returns the highest of a version and all refetch versions.
func (q *quarantine) furthest(version string) string {
	for _, upTo := range q.versions { // the order does not matter for a maximum
		version = object.Newer(version, upTo)
	}
	return version
}

// unsettled reports whether the sink's object of a key may be older than the resume version
// (quarantine) or newer (refetch version).
func (q *quarantine) unsettled(key string) bool {
	_, refetched := q.versions[key]
	return refetched || q.entries[key] != nil
}

// unsure returns the keys that are unsettled.
func (q *quarantine) unsure() []string {
	keys := slices.Collect(maps.Keys(q.entries))
	keys = slices.AppendSeq(keys, maps.Keys(q.versions))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// suspect is called when another server may answer from now on. It puts every key with a refetch
// version into quarantine, so that the machine refetches it. The refetch version would hide events
// of a new server, and the history check does not cover it, because it is newer than the resume
// version.
func (q *quarantine) suspect(now time.Time, resume string) {
	for _, key := range slices.Sorted(maps.Keys(q.versions)) {
		if q.entries[key] == nil {
			q.put(now, resume, Item{Meta: object.Meta{Key: key, ResourceVersion: q.versions[key]}}, errAhead, outOfOrder)
		}
	}
}

var errAhead = errors.New("the server was asked for the object, and another server may answer now")
