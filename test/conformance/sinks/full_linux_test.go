package sinks

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/internal/child"
)

// TestFull keeps the files of a database from growing, as a full disk does: by RLIMIT_FSIZE, for
// which nobody needs any rights, and those of SQLite by a file system that is full, too. Objects
// change meanwhile. Then the files may grow again: SQLite's at once, those of PostgreSQL after its
// service was started again.
func TestFull(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		testFull(t, newDatabase(t, "sqlite"), limitFiles)
	})
	t.Run("sqlite, file system", func(t *testing.T) {
		t.Parallel()
		testFullFileSystem(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := ownPostgres(t)
		testFull(t, postgresSchema{server, "little"}, func(_ *program, size uint64) {
			must.OK(t, server.Stop())
			server.MaxFile = size
			must.OK(t, server.Start())
		})
	})
}

// limitFiles bounds the size of each file that a program writes.
func limitFiles(p *program, size uint64) {
	p.t.Helper()
	var limit unix.Rlimit
	must.OK(p.t, unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &limit))
	limit.Cur = min(size, limit.Max)
	must.OK(p.t, unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
}

// mayMount is set in the environment of a process of this test that has namespaces of its own,
// where it may mount a file system.
const mayMount = "RELIST_MAY_MOUNT"

// notMounted is what that process says if the system does not let it.
const notMounted = "no file system of its own"

// testFullFileSystem fills a real file system. Any file of the copy can be the first to find no
// room, SQLite's shared memory, too. It runs itself again in a namespace of users and one of
// mounts. Some systems forbid either (a container, AppArmor); there it bounds the files instead.
func testFullFileSystem(t *testing.T) {
	if os.Getenv(mayMount) != "" {
		dir := t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
			t.Fatalf("%s: %v", notMounted, err)
		}
		t.Cleanup(func() { must.OK(t, unix.Unmount(dir, 0)) })
		testFull(t, sqliteFile{filepath.Join(dir, "copy.db")}, func(_ *program, size uint64) {
			if size != unix.RLIM_INFINITY {
				var fs unix.Statfs_t
				must.OK(t, unix.Statfs(dir, &fs))
				size = min(size, 1<<20) + (fs.Blocks-fs.Bfree)*uint64(fs.Bsize)
			} else {
				size = 64 << 20
			}
			must.OK(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", size)))
		})
		return
	}
	self, err := os.Executable()
	must.OK(t, err)
	again := exec.CommandContext(t.Context(), self, "-test.run=^TestFull$/^sqlite,_file_system$", "-test.v", fmt.Sprintf("-seed=%d", *seed))
	again.Env = append(os.Environ(), mayMount+"=1")
	again.SysProcAttr = child.Attributes()
	again.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	again.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	again.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	out, err := again.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(string(out), "--- PASS: TestFull/"):
	case err != nil && !errors.As(err, &exit), strings.Contains(string(out), notMounted):
		t.Logf("%v: %s; the files are bounded instead", err, out)
		testFull(t, newDatabase(t, "sqlite"), limitFiles)
	default:
		t.Errorf("%v\n%s", err, out)
	}
}

func listed(l line) bool { return l.What == "commit" && l.Version != "" }

func written(l line) bool { return listed(l) && l.Count > 0 }

func testFull(t *testing.T, db database, limit func(p *program, size uint64)) {
	w := newWorld(t, newServer(t), *seed+500, db.unstorable(), 100)
	k := newKiller(w, db, true, &tally{})
	first := k.start()
	first.mustSay("commit a list", listed)
	limit(first, 2<<20)
	k.kill(first)
	p := k.start()
	p.mustSay("open", opened)
	limit(p, 2<<20)
	for range 24 {
		w.mu.Lock()
		w.put(fmt.Sprintf("large-%d", w.dice.IntN(24)), noise(w.dice, 1<<18))
		w.mu.Unlock()
	}
	full := 0
	p.mustSay("fail", func(l line) bool {
		if l.What == "failed" && (strings.Contains(l.Text, "disk") || strings.Contains(l.Text, "File too large")) {
			full++
		}
		return full == 2
	})
	k.check(db.read(t))
	limit(p, unix.RLIM_INFINITY)
	lines, _ := p.so()
	seen := len(lines)
	w.change()
	p.mustSay("write again", func(l line) bool { seen--; return seen < 0 && written(l) })
	k.check(db.read(t))
	p.kill()
	k.note(p)
	k.settle()
}

// noise returns text that cannot be compressed to less than half.
func noise(dice *rand.Rand, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "0123456789abcdef"[dice.IntN(16)]
	}
	return string(text)
}
