package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
)

// An event that the server's cache loses is missed by every client. A verification finds what it
// was about, says so, and repairs it.
func TestMirrorVerifies(t *testing.T) {
	w := newWorld(t, 2)
	p := start(t, w.mirror("--verify", "200ms")...)
	p.out.Await(t, "2 objects at ")
	if err := w.server.DropEvent("ADDED", 1); err != nil {
		t.Fatal(err)
	}
	w.configMap("lost", "1")
	p.errors.Await(t, "configmaps: a/lost differs from the server: it is there at ")
	p.errors.Await(t, "configmaps: 1 object of 3 on the server differed from the copy, and the copy is repaired\n")
	w.awaitRow(p, "a/lost")
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

// A server that refuses the lists of verifications is told of once.
func TestMirrorCannotVerify(t *testing.T) {
	w := newWorld(t, 1)
	p := start(t, w.mirror("--verify", "100ms")...)
	p.out.Await(t, "1 object at ")
	if err := w.server.FailNext(apitest.Failure{Verb: "list", Resource: "configmaps", Status: 500, Message: "no metadata today", Count: 4}); err != nil {
		t.Fatal(err)
	}
	p.errors.Await(t, "configmaps: is compared with the server again\n")
	r := p.interrupt()
	if want := "configmaps: cannot be compared with the server, and is tried again after --verify: "; r.status != cli.ExitOK || strings.Count(r.stderr, want) != 1 || !strings.Contains(r.stderr, "no metadata today") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// verify says which rows differ from what the server had at the version of the copy, whatever has
// changed there since.
func TestVerify(t *testing.T) {
	w := newWorld(t, 4)
	w.once("--label", "east")
	w.configMap("later", "1")
	if _, err := w.server.Delete("configmaps", "a", "c0003"); err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(w.query("SELECT version FROM relist_state"))
	verify := func(status int, stdout, stderr string) {
		t.Helper()
		r := command(t, "verify", w.file, "--server", w.url)
		if r.status != status || r.stdout != stdout || !strings.Contains(r.stderr, stderr) || (r.stderr == "") != (stderr == "") {
			t.Errorf("status %d, stdout %q, stderr %q; want %d, %q, %q", r.status, r.stdout, r.stderr, status, stdout, stderr)
		}
	}
	verify(cli.ExitOK, "configmaps of east: 4 rows at "+version+", as on the server\n", "")

	conn, err := driver.OpenConn(w.file, driver.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	statement := func(text string) {
		t.Helper()
		if err := sqlitex.ExecuteTransient(conn, text, nil); err != nil {
			t.Fatal(err)
		}
	}
	statement("UPDATE configmaps SET resource_version = '1' WHERE name = 'c0001'")
	statement("UPDATE configmaps SET uid = 'u' WHERE name = 'c0002'")
	statement("UPDATE configmaps SET key = 'a/ghost' WHERE name = 'c0003'")
	uid := strings.Trim(w.query("SELECT object ->> '$.metadata.uid' FROM configmaps WHERE name = 'c0002'"), "\n")
	verify(exitDiffers, "configmaps of east: at "+version+", 4 objects differ from the server's\n"+
		"  a/c0001 is at 4, and its row at 1\n"+
		"  a/c0002 has the UID "+uid+", and its row u\n"+
		"  a/c0003 is at 6, and has no row\n"+
		"  a/ghost is not there, and has a row\n",
		"relist-sql verify: 4 objects differ from the server's; relist-sql mirror repairs them, see its --verify\n")

	statement(`UPDATE relist_state SET state = json_set(state, '$.point.unsure', json('["a/c0001","a/c0002","a/c0003","a/ghost"]'))`)
	verify(cli.ExitOK, "configmaps of east: 4 rows at "+version+", as on the server (4 unsure keys not compared)\n", "")

	statement(`UPDATE relist_state SET state = json_set(state, '$.point.moreUnsure', 1)`)
	verify(cli.ExitError, "", "relist-sql verify: configmaps of east: it has unsure keys without a known key (1)")
	statement(`UPDATE relist_state SET state = json_remove(state, '$.point.moreUnsure')`)

	w.server.Compact()
	verify(cli.ExitError, "", "configmaps of east: the server no longer has version "+version+": start relist-sql mirror, and verify when it has caught up\n")
	statement("UPDATE relist_state SET version = '999999'") // as after a restored backup
	verify(cli.ExitError, "", "configmaps of east: the server has not come to version 999999: its storage was restored from a backup, or another server answers; "+
		"start relist-sql mirror, which copies what the server has now, and verify when it has caught up\n")
	statement("UPDATE relist_state SET version = ''")
	verify(cli.ExitError, "", "configmaps of east: it has no version, because a list is not whole")
	other := newWorld(t, 1)
	w.url = other.url
	verify(cli.ExitError, "", "sqlite:"+w.file+" has no copy of the cluster ")
}

// A damaged file is told as such, although the rows that can be read are right.
func TestVerifyDamage(t *testing.T) {
	w := newWorld(t, 200)
	w.once()
	file, err := os.OpenFile(w.file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes.Repeat([]byte{0xa5}, 4096), info.Size()-4096); err != nil {
		t.Fatal(err)
	}
	r := command(t, "verify", w.file, "--server", w.url)
	if r.status != cli.ExitError || !strings.Contains(r.stderr, "relist-sql verify: sqlite:"+w.file+": database disk image is malformed: ") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}
