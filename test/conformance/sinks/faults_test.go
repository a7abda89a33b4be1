package sinks

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
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

// refuses starts a program that must end by itself, and say why.
func refuses(t *testing.T, k *killer, why string) {
	t.Helper()
	p := k.start()
	status, stderr := p.exit()
	if status != 1 || !strings.Contains(stderr, why) {
		t.Errorf("the program has ended with status %d and this, want %q:\n%s", status, why, stderr)
	}
}

// TestOtherVersion gives a database the schema of a version of relist that nobody knows yet.
func TestOtherVersion(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t, kind)
			w := newWorld(t, newOurs(t), *seed+400, db.unstorable(), 50)
			k := newKiller(w, db, true, &tally{})
			p := k.start()
			p.mustSay("commit a list", listed)
			k.kill(p)
			before := db.read(t)
			db.change(t, db.schemaVersion("99"))
			refuses(t, k, "newer version of relist")
			db.change(t, db.schemaVersion("1"))
			after := db.read(t)
			if len(after.rows) != len(before.rows) || after.state.Epoch != before.state.Epoch {
				t.Errorf("%d rows of epoch %d are there, want %d of %d", len(after.rows), after.state.Epoch, len(before.rows), before.state.Epoch)
			}
			w.change()
			k.settle()
		})
	}
}

// TestForeignDatabase gives a program what another one has made. It must stay as it is.
func TestForeignDatabase(t *testing.T) {
	s := newOurs(t)
	for name, c := range map[string]struct {
		content func(*testing.T, string)
		why     string
	}{
		"a file that is no database": {
			func(t *testing.T, path string) {
				must(t, os.WriteFile(path, bytes.Repeat([]byte("a diary\n"), 2000), 0o600))
			},
			"no database of SQLite",
		},
		"a database of another program": {
			func(t *testing.T, path string) {
				must(t, os.WriteFile(path, nil, 0o600))
				sqliteFile{path}.change(t, "CREATE TABLE configmaps (diary TEXT)")
			},
			"a database of another program",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "diary")
			c.content(t, path)
			before, err := os.ReadFile(path)
			must(t, err)
			k := newKiller(newWorld(t, s, *seed, "", 5), sqliteFile{path}, false, &tally{})
			refuses(t, k, c.why)
			after, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
	t.Run("a schema of another program", func(t *testing.T) {
		db := newDatabase(t, "postgres").(postgresSchema)
		db.change(t, "CREATE SCHEMA "+db.schema)
		db.change(t, "CREATE TABLE "+db.schema+".relist_meta (diary text)")
		k := newKiller(newWorld(t, s, *seed, "", 5), db, false, &tally{})
		refuses(t, k, "relist has not made it")
	})
	t.Run("a table of another program", func(t *testing.T) {
		db := newDatabase(t, "postgres").(postgresSchema)
		db.change(t, "CREATE SCHEMA "+db.schema)
		db.change(t, "CREATE TABLE "+db.schema+".configmaps (diary text)")
		k := newKiller(newWorld(t, s, *seed, "", 5), db, false, &tally{})
		p := k.start()
		p.mustSay("fail", func(l line) bool { return l.What == "failed" && strings.Contains(l.Text, "relist has not made") })
		db.change(t, "INSERT INTO "+db.schema+".configmaps VALUES ('still mine')")
		db.change(t, "DROP TABLE "+db.schema+".configmaps")
		p.mustSay("commit a list", listed) // the way is free
		warned(t, p)
	})
}
