package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	driver "zombiezen.com/go/sqlite"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
)

const logSize = 1 << 20

func newLogRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "copy.db")}
	var err error
	if r.db, err = sqlite.Open(r.path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	r.db.SetLogSize(logSize)
	t.Cleanup(func() { r.db.Close() })
	r.copy = newCopy(t, r.db, durable.Table{})
	r.load()
	return r
}

func (r *rig) reader() *driver.Conn {
	r.t.Helper()
	conn, err := sqlite.OpenReader(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return conn.Conn
}

func (r *rig) logSize() int64 {
	r.t.Helper()
	info, err := os.Stat(r.path + "-wal")
	if err != nil {
		r.t.Fatal(err)
	}
	return info.Size()
}

func (r *rig) commitLarge(i int) {
	p := put("shop/a", "u1", "1", "n1")
	p.Object = `{"data":"` + strings.Repeat(string(rune('a'+i%26)), 200<<10) + `"}`
	r.commit(false, "7", p)
}

// There is a reader at every moment, because one begins before the other ends. The log does not
// grow with the number of commits.
func TestLogStaysSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLogRig(t)
		readers := []*driver.Conn{r.reader(), r.reader()}
		begin := func(i int) {
			query(t, readers[i%2], "BEGIN")
			query(t, readers[i%2], "SELECT count(*) FROM pods")
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		begin(0)
		go func() {
			defer close(stopped)
			for i := 1; ; i++ {
				begin(i)
				query(t, readers[(i+1)%2], "COMMIT")
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		}()
		largest := int64(0)
		for i := range 200 { // 40 MB
			r.commitLarge(i)
			largest = max(largest, r.logSize())
			<-time.After(10 * time.Millisecond)
		}
		close(stop)
		<-stopped
		if largest > 2*logSize {
			t.Errorf("the log has had %d bytes, although %d are enough", largest, logSize)
		}
		r.db.Close()
	})
}

// A reader that does not end keeps the log, and no commit fails because of it, nor waits again and
// again.
func TestLogOfALongReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLogRig(t)
		r.commitLarge(0)
		reader := r.reader()
		query(t, reader, "BEGIN")
		query(t, reader, "SELECT count(*) FROM pods")
		begin := time.Now()
		for i := range 20 {
			r.commitLarge(i)
		}
		if waited := time.Since(begin); waited < 500*time.Millisecond || waited > 1100*time.Millisecond {
			t.Errorf("20 commits have waited %v for a reader, want about a second", waited)
		}
		if n := r.logSize(); n < 3*logSize {
			t.Errorf("the log has %d bytes although a reader needs it", n)
		}
		if got := query(t, reader, "SELECT substr(object, 10, 1) FROM pods"); got[0] != "a" {
			t.Errorf("the reader sees %q", got)
		}
		query(t, reader, "COMMIT")
		if got := query(t, reader, "SELECT substr(object, 10, 1) FROM pods"); got[0] != "t" {
			t.Errorf("after its transaction the reader sees %q", got)
		}
		<-time.After(10 * time.Second)
		r.commitLarge(21)
		if n := r.logSize(); n != 0 {
			t.Errorf("the log has %d bytes although nobody needs it", n)
		}
		r.db.Close()
	})
}
