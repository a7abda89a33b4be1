package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const noServer = `no PostgreSQL server here: these tests start one of their own, and need the programs initdb and postgres.
Install them (Debian: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql),
or set RELIST_POSTGRES_BIN to the folder that they are in`

// server is a private server, on a Unix socket in a folder of its own.
type server struct {
	dir     string
	bin     string
	as      *syscall.Credential // postgres does not run as root
	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd has ended
	log     *os.File
	options []string
}

// shared is the server of all tests that do not break theirs.
var shared *server

func TestMain(m *testing.M) {
	code := 1
	var err error
	if shared, err = newServer("-c", "fsync=off", "-c", "full_page_writes=off"); err == nil {
		code = m.Run()
	}
	if shared != nil {
		err = errors.Join(err, shared.remove())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	os.Exit(code)
}

// binaries returns the folder that has the programs.
func binaries() (string, error) {
	if dir := os.Getenv("RELIST_POSTGRES_BIN"); dir != "" {
		return dir, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil { // initdb looks for its files from here
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "initdb")); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	if len(found) == 0 {
		return "", errors.New(noServer)
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for what is not a version
	return n
}

// newServer makes and starts a server. If it returns both a server and an error, the server's folder is to be removed.
func newServer(options ...string) (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "relist-postgres-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, bin: bin, options: options}
	if os.Getuid() == 0 {
		if s.as, err = unprivileged(); err != nil {
			return s, err
		}
		if err := os.Chown(dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return s, err
		}
	}
	initdb := s.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return s, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	hba := filepath.Join(dir, "data", "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all with_password scram-sha-256\nlocal all all trust\n"), 0o600); err != nil {
		return s, err
	}
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return s, err
	}
	return s, s.start()
}

// unprivileged returns a user to run the server as.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("postgres does not run as root, and there is neither a user postgres nor nobody")
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = processAttr(s.as)
	return cmd
}

// start starts the server, and waits until it answers. After a crash, the processes of the server before may still be there, and the
// server does not start: so it is started again.
func (s *server) start() error {
	var last error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		s.cmd = s.command("postgres", append([]string{
			"-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-c", "listen_addresses=",
			"-c", "max_connections=50", "-c", "shared_buffers=64MB", "-c", "log_statement_stats=off",
		}, s.options...)...)
		s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
		if err := s.cmd.Start(); err != nil {
			return err
		}
		cmd, ended := s.cmd, make(chan struct{})
		s.ended = ended
		go func() {
			defer close(ended)
			_ = cmd.Wait() // how it has ended stands in its log
		}()
		if last = s.answers(); last == nil {
			return nil
		}
	}
	return fmt.Errorf("postgres does not start: %w\n%s", last, s.logTail())
}

// answers waits until the server answers, or has ended.
func (s *server) answers() error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		conn, err := pgx.Connect(ctx, s.url("postgres", nil))
		if err == nil {
			err = conn.Close(ctx)
			cancel()
			return err
		}
		cancel()
		select {
		case <-s.ended:
			return fmt.Errorf("it has ended: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// kill ends the server as a crash does: nothing is written, and no connection is closed in order.
func (s *server) kill() error { return s.cmd.Process.Signal(syscall.SIGKILL) }

func (s *server) remove() error {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // at once; it may have ended
		select {
		case <-s.ended:
		case <-time.After(10 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.ended
		}
	}
	return os.RemoveAll(s.dir)
}

func (s *server) logTail() []byte {
	data, _ := os.ReadFile(filepath.Join(s.dir, "log")) // it is for reading by people
	return data[max(0, len(data)-2000):]
}

// url returns the address of the server.
func (s *server) url(role string, more url.Values) string {
	query := url.Values{"host": {s.dir}, "port": {"5432"}}
	for name, values := range more {
		query[name] = values
	}
	return "postgres://" + url.UserPassword(role, "").Username() + "@/postgres?" + query.Encode()
}

var schemas atomic.Int64

// newSchema returns a name that no other test has.
func newSchema(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("t%d", schemas.Add(1))
}

// admin returns a connection of the superuser, for looking and for breaking things.
func admin(t testing.TB, s *server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.url("postgres", nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec1(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// query returns rows as text: values are separated by a space, rows by a newline.
func query(t testing.TB, conn *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		var b bytes.Buffer
		for i, v := range values {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, v)
		}
		return b.String(), err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}
