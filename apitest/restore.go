package apitest

import (
	"fmt"

	"github.com/relist-go/relist/watchcache"
)

// A Restore is the restoration of etcd from a backup.
type Restore struct {
	// ResourceVersion is the version of the last write in the backup.
	ResourceVersion string
	// KeepConnections says that clients lose no connection, as behind a proxy that keeps its connections to them. The
	// server ends the open watches cleanly. A list continues with its next page, and that of the restored storage.
	KeepConnections bool
	// StorageOnly says that etcd is restored while the API servers keep running. Nothing that is open ends. The watch cache
	// of every replica still has what the backup lacks, and never gets the writes that the restored storage numbers up to
	// the version of the cache. Watches and lists come from that cache, a list without a resourceVersion and the pages of a
	// list included. The storage answers a GET without a resourceVersion, a list of one name with
	// resourceVersionMatch=Exact, and writes.
	StorageOnly bool
}

// Restore takes the storage back to the state at an earlier version, as the restoration of etcd from a backup does. The
// counter goes back, too, and gives the same versions to other changes later. Then the API servers start again: every
// replica begins with an empty window, and every connection breaks, unless x says otherwise. The current version is a
// backup like any other; with that, Restore is a restart of the API servers alone.
//
// Restore breaks the connections of the Listeners before anything of the restored storage can be sent through them, except
// those that HalfOpen spares. If a program serves this handler with an http.Server of its own, Restore can break only the
// open watches.
//
// Restore returns an error if the version is newer than the current one, or was compacted.
func (s *Server) Restore(x Restore) error {
	rv, err := watchcache.ParseVersion(x.ResourceVersion)
	if err != nil {
		return fmt.Errorf("restore a backup: %w", err)
	}
	listeners := s.allListeners()

	st := s.storage
	st.mu.Lock()
	defer st.mu.Unlock()
	if rv < st.compacted || rv > st.rv {
		return fmt.Errorf("restore the backup at resource version %d: only %d to %d are kept", rv, st.compacted, st.rv)
	}
	st.restore(rv)
	if x.StorageOnly {
		return nil
	}
	if x.KeepConnections {
		s.EndWatches()
	} else {
		for _, l := range listeners {
			l.breakAll()
		}
		s.Cut(Cut{Reset: true})
	}
	for _, r := range st.replicas { // after the connections are broken, see Replica.cache
		r.frozen = false
		for _, t := range st.tables { // each by itself: the order does not matter
			r.fill(t)
		}
	}
	return nil
}
