package sinks

import (
	"flag"
	"net/http"
	"testing"
)

var (
	realKills     = flag.Int("realkills", 6, "how often TestKubeAPIServer kills a program, for each database")
	realTakeovers = flag.Int("realtakeovers", 2, "how often TestKubeAPIServer starts a second program, for each database")
)

// TestKubeAPIServer is TestKills and TestTwoWriters with a real server. A backup is one of etcd.
func TestKubeAPIServer(t *testing.T) {
	s := newTheirs(t)
	for i, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			total := &tally{}
			defer func() { t.Logf("%v", total.counts) }()
			here := s.of(t)
			here.do(http.MethodDelete, path, "")
			db := newDatabase(t, kind)
			w := newWorld(t, here, *seed+200+uint64(i), db.unstorable(), 200)
			k := newKiller(w, db, true, total)
			k.play(*realKills, max(1, *realKills/5))
			if !t.Failed() {
				k.takeOver(*realTakeovers)
			}
		})
	}
}
