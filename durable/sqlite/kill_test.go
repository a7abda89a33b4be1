package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
)

// killed is the variable that makes the test binary the program that TestKill kills: the path of its file.
const killed = "RELIST_SQLITE_KILLED"

func TestMain(m *testing.M) {
	if path := os.Getenv(killed); path != "" {
		if err := writeForEver(path); err != nil {
			fmt.Println("failed:", err)
		}
		return
	}
	m.Run()
}

var killTable = durable.Table{Resource: pods, Columns: []string{"node=.spec.nodeName"}, History: time.Hour}

const killedRows = 40

// writeForEver writes the same rows in each transaction, all of them at the version that it commits, in two Writes. It prints a line
// after each step.
func writeForEver(path string) error {
	db, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		return err
	}
	db.SetLogSize(1 << 20)
	c, err := sqlite.New(db, killTable, encode)
	if err != nil {
		return err
	}
	ctx := context.Background()
	at, err := c.Load(ctx)
	if err != nil {
		return err
	}
	for {
		version := 1
		if at.Point.Version != "" {
			if version, err = strconv.Atoi(at.Point.Version); err != nil {
				return err
			}
			version++
		}
		next := state(at.Epoch, strconv.Itoa(version))
		tx, err := c.Begin(ctx, at, false)
		if err != nil {
			return err
		}
		fmt.Println("begun", version)
		var changes []durable.Change[text]
		for i := range killedRows {
			p := put(fmt.Sprint("shop/web-", i), "u", next.Point.Version, fmt.Sprint("node-", version%7))
			p.Object = strings.TrimSuffix(p.Object, "}") + `,"data":"` + strings.Repeat("x", 3000) + `"}`
			changes = append(changes, p)
		}
		for half := range slices.Chunk(changes, killedRows/2) {
			if err := tx.Write(ctx, half); err != nil {
				return err
			}
			fmt.Println("written", version)
		}
		if err := tx.Commit(ctx, next); err != nil {
			return err
		}
		fmt.Println("committed", version)
		at = next
	}
}

// A program that is killed at any moment leaves rows, history and state that agree, and every commit that it has told. The next
// one opens the file at once.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy.db")
	rounds := 25
	if testing.Short() {
		rounds = 8
	}
	for range rounds {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		child.Env = append(os.Environ(), killed+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		told := 0
		lines := bufio.NewScanner(out)
		for left := rand.IntN(40); lines.Scan(); left-- {
			what, version, _ := strings.Cut(lines.Text(), " ")
			if what == "failed:" {
				t.Fatal(lines.Text())
			}
			if what == "committed" {
				told, _ = strconv.Atoi(version)
			}
			if left == 0 {
				if err := child.Process.Kill(); err != nil { // on Unix it is SIGKILL
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // killed
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		checkKilled(t, path, told)
	}
}

func checkKilled(t *testing.T, path string, told int) {
	t.Helper()
	r := &rig{t: t, path: path}
	r.open(killTable)
	defer r.db.Close()
	version := 0
	if r.at.Point.Version != "" {
		var err error
		if version, err = strconv.Atoi(r.at.Point.Version); err != nil {
			t.Fatal(err)
		}
	}
	if version < told {
		t.Errorf("version %d, but %d was committed", version, told)
	}
	if version == 0 {
		if got := r.query("SELECT key FROM pods"); len(got) != 0 {
			t.Errorf("rows before the first commit: %q", got)
		}
		return
	}
	want := []string{fmt.Sprintf("%d|%d|node-%d", killedRows, version, version%7)}
	for _, query := range []string{
		"SELECT count(*), resource_version, node FROM pods GROUP BY resource_version, node",
		"SELECT count(*), resource_version, node FROM pods_history WHERE to_time IS NULL GROUP BY resource_version, node",
	} {
		if diff := cmp.Diff(want, r.query(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if got := r.query("SELECT key FROM pods_history WHERE to_time IS NOT NULL AND to_version <> resource_version + 1"); len(got) != 0 {
		t.Errorf("states of the history that do not follow each other: %q", got)
	}
	if got := r.query("PRAGMA integrity_check"); !slices.Equal(got, []string{"ok"}) {
		t.Errorf("integrity_check: %q", got)
	}
}
