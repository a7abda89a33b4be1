package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/internal/must"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct {
		make func(r *rig)
		want string
	}{
		"another program's file": {func(r *rig) { r.other("CREATE TABLE bookmarks (url)") }, "database of another program"},
		"another application_id": {func(r *rig) { r.other("PRAGMA application_id = 7") }, "database of another program (application_id 7,"},
		"a newer schema": {func(r *rig) {
			r.open(durable.Table{})
			r.db.Close()
			r.other("PRAGMA user_version = 99")
		}, "a newer version of relist has made it (its schema is 99,"},
		"no database": {func(r *rig) { write(r.t, r.path, []byte(strings.Repeat("a letter to a friend\n", 100))) }, "it is no database of SQLite"},
		"a folder": {func(r *rig) {
			if err := os.Mkdir(r.path, 0o700); err != nil {
				r.t.Fatal(err)
			}
		}, "it is a folder"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, path: filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))}
			c.make(r)
			before, _ := os.ReadFile(r.path)
			db, err := sqlite.Open(r.path, sqlite.Options{})
			if err == nil {
				db.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), r.path) {
				t.Errorf("error: %v", err)
			}
			if after, _ := os.ReadFile(r.path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			if _, err := sqlite.OpenReader(r.path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("OpenReader: %v", err)
			}
		})
	}
	file := filepath.Join(dir, "no-database")
	for path, want := range map[string]string{
		"":                                    "want the path of a file",
		":memory:":                            "want the path of a file",
		filepath.Join(dir, "none", "copy.db"): "sqlite: open: the folder " + filepath.Join(dir, "none") + " does not exist: make it first",
		filepath.Join(file, "copy.db"):        "sqlite: open: " + file + " is a file, not a folder: name another path",
		filepath.Join(file, "a", "copy.db"):   "sqlite: open: " + file + " is a file, not a folder: name another path",
	} {
		if _, err := sqlite.Open(path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q): %v, want %s", path, err, want)
		}
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	must.OK(t, os.WriteFile(path, data, 0o600))
}

func TestLock(t *testing.T) {
	r := newRig(t, durable.Table{})
	link := r.path + ".link"
	must.OK(t, os.Symlink(r.path, link))
	refused := func(path string, opts sqlite.Options) {
		t.Helper()
		db, err := sqlite.Open(path, opts)
		if err == nil {
			db.Close()
			t.Fatalf("%s was opened twice", path)
		}
		if !errors.Is(err, sqlite.ErrLocked) || !strings.Contains(err.Error(), "open "+r.path+": another program has opened it") {
			t.Errorf("error: %v", err)
		}
	}
	shared := sqlite.Options{Shared: true}
	for _, path := range []string{r.path, link} {
		refused(path, sqlite.Options{})
		refused(path, shared)
	}
	r.db.Close()
	if err := r.db.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	if _, err := r.copy.Load(t.Context()); err == nil {
		t.Error("Load after Close: no error")
	}
	if _, err := sqlite.New(r.db, durable.Table{Resource: pods}, encode); err == nil {
		t.Error("New after Close: no error")
	}

	// Those that are shared keep out one that is not, until the last of them is closed.
	r.opts = shared
	r.open(durable.Table{})
	second, err := sqlite.Open(link, shared)
	must.OK(t, err)
	refused(r.path, sqlite.Options{})
	r.db.Close()
	refused(r.path, sqlite.Options{})
	second.Close()
	r.opts = sqlite.Options{}
	r.open(durable.Table{})
	r.db.Close()
}

// What is full is told, nothing is lost, and writing continues when there is room.
func TestFullDisk(t *testing.T) {
	r := newRig(t, durable.Table{})
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
	big := put("shop/b", "u2", "2", "n1")
	big.Object = `{"data":"` + strings.Repeat("x", 8<<20) + `"}`
	sqlite.Limit(r.copy, "PRAGMA max_page_count = 100")
	r.begin(false)
	err := r.tx.Write(t.Context(), []durable.Change[text]{big})
	if err == nil || !strings.Contains(err.Error(), r.path+": write to pods: put shop/b: ") || !strings.Contains(err.Error(), "nothing was lost, and writing continues as soon as there is room") {
		t.Errorf("Write: %v", err)
	}
	r.load() // a new connection, so without the limit
	if got := r.query("SELECT key FROM pods"); len(got) != 1 || r.at.Point.Version != "5" {
		t.Errorf("rows %q at %q", got, r.at.Point.Version)
	}
	r.commit(false, "6", big)
}

// A transaction that has failed does not keep others waiting until the next Load.
func TestFailedTransactionLetsOthersWrite(t *testing.T) {
	r := newRigWith(t, durable.Table{}, sqlite.Options{Shared: true})
	r.other("CREATE TRIGGER refuse BEFORE INSERT ON pods BEGIN SELECT RAISE(ABORT, 'no'); END")
	r.begin(true)
	if err := r.tx.Write(t.Context(), []durable.Change[text]{put("shop/a", "u1", "1", "n1")}); err == nil {
		t.Fatal("the trigger refuses nothing")
	}
	conn, err := driver.OpenConn(r.path, driver.OpenReadWrite)
	must.OK(t, err)
	defer conn.Close()
	conn.SetBusyTimeout(0)
	query(t, conn, "DROP TRIGGER refuse")
	r.load()
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
}

// A damaged page is told as such, by whichever call comes to it.
func TestCorruptPage(t *testing.T) {
	r := newRig(t, durable.Table{})
	var changes []durable.Change[text]
	for i := range 500 {
		key := "shop/" + strings.Repeat("x", 100) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
		changes = append(changes, put(key, "u", "1", "n"))
	}
	r.commit(true, "5", changes...)
	r.db.Close() // moves the log into the file
	data, err := os.ReadFile(r.path)
	must.OK(t, err)
	const page = 4096
	for at := 8 * page; at+page <= len(data); at += page { // the tables of the schema are before that
		copy(data[at:], bytes.Repeat([]byte{0xa5}, page))
	}
	write(t, r.path, data)
	db, err := sqlite.Open(r.path, sqlite.Options{})
	must.OK(t, err)
	defer db.Close()
	r.db, r.copy = db, newCopy(t, db, durable.Table{})
	r.load()
	_, err = r.copy.Keys(t.Context(), "", 1000)
	if err == nil || !strings.Contains(err.Error(), r.path+": list the keys of pods: ") || !strings.Contains(err.Error(), "the file is damaged: stop the program and move the file away") {
		t.Errorf("Keys: %v", err)
	}
	if _, err := r.copy.Keys(t.Context(), "", 1); err == nil || !strings.Contains(err.Error(), "Load was not called") {
		t.Errorf("the next call: %v", err)
	}
}

// A program was killed, and left its log. A backup that is copied over the file gets the commits of
// that log. It is as it was when the log is deleted.
func TestBackupBesideTheLogOfAKilledProgram(t *testing.T) {
	r := newRig(t, durable.Table{})
	rows := func(version string, from, to int) {
		t.Helper()
		var changes []durable.Change[text]
		for i := from; i < to; i++ {
			changes = append(changes, put(fmt.Sprintf("shop/%04d", i), "u", version, strings.Repeat("n", 400)))
		}
		r.commit(true, version, changes...)
	}
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		must.OK(t, err)
		return data
	}
	rows("5", 0, 300)
	r.db.Close() // moves the log into the file
	backup := read(r.path)
	r.open(durable.Table{})
	rows("6", 300, 900)
	r.db.Close()
	r.open(durable.Table{})
	rows("7", 800, 1000)

	killed := &rig{t: t, path: filepath.Join(t.TempDir(), "copy.db")}
	write(t, killed.path, read(r.path))
	write(t, killed.path+"-wal", read(r.path+"-wal"))
	killed.open(durable.Table{})
	if killed.at.Point.Version != "7" {
		t.Errorf("with its own log, the file is at %q", killed.at.Point.Version)
	}
	killed.db.Close()

	restored := &rig{t: t, path: filepath.Join(t.TempDir(), "copy.db")}
	write(t, restored.path, backup)
	write(t, restored.path+"-wal", read(r.path+"-wal"))
	db, err := sqlite.Open(restored.path, sqlite.Options{})
	if err == nil {
		db.Close()
		t.Fatal("opened, with the commits of another file")
	}
	if want := "open " + restored.path + ": "; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "delete copy.db-wal and copy.db-shm") {
		t.Errorf("error: %v", err)
	}
	for _, more := range []string{"-wal", "-shm"} {
		must.OK(t, os.Remove(restored.path+more))
	}
	restored.open(durable.Table{})
	if got := restored.query("SELECT count(*) FROM pods"); got[0] != "300" || restored.at.Point.Version != "5" {
		t.Errorf("%s rows at %q, want those of the backup", got, restored.at.Point.Version)
	}
	restored.db.Close()
}

// Somebody deletes or replaces the file while it is open: the copy begins again in the file that
// has the name.
func TestMovedFile(t *testing.T) {
	r := newRig(t, durable.Table{})
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
	must.OK(t, os.Rename(r.path, r.path+".old"))
	for _, more := range []string{"-wal", "-shm"} {
		must.OK(t, os.Remove(r.path+more))
	}
	if _, err := r.copy.Begin(t.Context(), r.at, false); err == nil || !strings.Contains(err.Error(), "the file is gone") {
		t.Errorf("Begin: %v", err)
	}
	r.load()
	if r.at.Point.Version != "" || r.at.Epoch != 0 {
		t.Errorf("the state of the new file is %v", r.at)
	}
	r.commit(true, "6", put("shop/b", "u1", "1", "n1"))
	if got := r.query("SELECT key FROM pods"); len(got) != 1 || got[0] != "shop/b" {
		t.Errorf("rows %q", got)
	}
}

// The end of a context ends the wait for another writer, and the connection stays as it was.
func TestBusy(t *testing.T) {
	r := newRigWith(t, durable.Table{}, sqlite.Options{Shared: true})
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
	writer, err := driver.OpenConn(r.path, driver.OpenReadWrite)
	must.OK(t, err)
	defer writer.Close()
	query(t, writer, "BEGIN IMMEDIATE")

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the program ends")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := r.copy.Begin(ctx, r.at, false); !errors.Is(err, why) {
		t.Errorf("Begin: %v", err)
	}
	if _, err := r.copy.Held(t.Context(), []string{"shop/a"}); err != nil {
		t.Errorf("Held after that: %v", err)
	}
	db, err := sqlite.Open(r.path, sqlite.Options{Shared: true, BusyTimeout: time.Second})
	if err != nil {
		t.Fatalf("a file that another connection writes to is not opened: %v", err)
	}
	defer db.Close()
	newCopy(t, db, durable.Table{}) // its table is there
	_, err = sqlite.New(db, durable.Table{Name: "more", Resource: pods}, encode)
	if err == nil || !strings.Contains(err.Error(), "another connection has been writing for 1s") {
		t.Errorf("New: %v", err)
	}
	query(t, writer, "ROLLBACK")
	r.commit(false, "6", put("shop/b", "u1", "1", "n1"))
}

// A statement that runs is interrupted, not waited for.
func TestCancelRunning(t *testing.T) {
	r := newRig(t, durable.Table{})
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
	r.begin(false)
	ctx, cancel := context.WithCancel(t.Context())
	err := sqlite.Run(ctx, cancel, r.copy, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the statement: %v", err)
	}
	if err := r.tx.Rollback(); err != nil {
		t.Error(err)
	}
	r.commit(false, "6", put("shop/b", "u1", "1", "n1"))
}
