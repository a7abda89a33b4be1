package sinks

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var away = flag.Duration("away", 5*time.Second, "how long TestDatabaseAway stops the database")

// failing is the line of the log that says that the database fails.
const failing = `level=WARN msg="relist: copy cannot be written"`

// warned checks that a program has said once, and not more often, that it cannot write.
func warned(t *testing.T, p *program) {
	t.Helper()
	p.kill()
	if n := strings.Count(p.stderr.String(), failing); n != 1 {
		t.Errorf("the log says %d times that the copy cannot be written, want once", n)
	}
}

func listed(l line) bool { return l.What == "commit" && l.Version != "" }

func written(l line) bool { return l.What == "commit" && l.Version != "" && l.Count > 0 }

// TestDatabaseAway stops PostgreSQL while objects change.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	server := ownPostgres(t)
	db := postgresSchema{server, "away"}
	w := newWorld(t, newOurs(t), *seed+300, db.unstorable(), 200)
	k := newKiller(w, db, true, &tally{})
	p := k.start()
	p.mustSay("commit a list", listed)
	stop := w.churn(20 * time.Millisecond)
	defer stop()
	w.wait(500 * time.Millisecond)
	must(t, server.Stop())
	p.mustSay("fail", func(l line) bool { return l.What == "failed" })
	<-time.After(*away)
	lines, _ := p.so()
	must(t, server.Start())
	seen := len(lines)
	p.mustSay("write again", func(l line) bool { seen--; return seen < 0 && written(l) })
	k.check(db.read(t))
	stop()
	warned(t, p)
	k.note(p)
	k.settle()
}
