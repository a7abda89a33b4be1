package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/usage"
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
)

// Summary returns what has happened so far, and what the copy is now.
func (m *Mirror) Summary() report.Summary {
	used := usage.Now()
	snapshot := m.store.Snapshot()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.summary
	s.Objects = snapshot.Len()
	s.Digest = Digest(snapshot.All())
	s.CPUSeconds = report.Seconds(used.CPU)
	s.PeakRSSBytes = used.PeakRSS
	return s
}

// Digest is a short text that is equal for equal sets of objects: "sha256:" and the hash
// of a line "key uid resourceVersion" for each, in the order of objects, which is that
// of keys.
func Digest[T object.Object](objects iter.Seq2[string, T]) string {
	h := sha256.New()
	for key, o := range objects {
		_, _ = fmt.Fprintf(h, "%s %s %s\n", key, o.GetUID(), o.GetResourceVersion()) // a hash takes everything
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// count changes the summary.
func (m *Mirror) count(change func(*report.Summary)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.summary)
}

// advance notes that the mirror has everything up to a version. One that is older, as
// a confused server may send it, changes nothing; the reflector reports it.
func (m *Mirror) advance(resourceVersion string) {
	m.count(func(s *report.Summary) {
		if order, err := resourceversion.CompareResourceVersion(resourceVersion, s.ResourceVersion); err == nil && order < 0 {
			return
		}
		s.ResourceVersion = resourceVersion
	})
}

// listed reports whether a list has come.
func (m *Mirror) listed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.summary.Lists > 0
}

func (m *Mirror) countDelta(d deltafifo.Delta[*listwatch.Raw]) {
	m.count(func(s *report.Summary) {
		switch d.Type {
		case deltafifo.Added:
			s.Deltas.Added++
		case deltafifo.Updated:
			s.Deltas.Updated++
		case deltafifo.Deleted:
			s.Deltas.Deleted++
		case deltafifo.Replaced:
			if m.isSync {
				s.Deltas.Replaced++
			} else {
				s.Deltas.FirstList++
			}
		case deltafifo.Sync:
			s.Deltas.Sync++
		}
		if d.Tombstone != nil {
			s.Inferred++
		}
	})
}
