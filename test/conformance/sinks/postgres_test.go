package sinks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresServer is a server of a test's own, on a Unix socket in a folder of its own.
type postgresServer struct {
	dir, data, bin string
	as             *syscall.Credential // postgres does not run as root
	cmd            *exec.Cmd
	ended          chan struct{} // closed when cmd has ended
	limit          uint64        // how large its files may become, in bytes; 0 for no limit
}

// shared is the server of all tests that do not break theirs.
var shared struct {
	once   sync.Once
	server *postgresServer
	err    error
}

func sharedPostgres(t *testing.T) *postgresServer {
	t.Helper()
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "relist-sinks-") //nolint:usetesting // it outlives the test
		if err == nil {
			shared.server, err = newPostgres(dir, filepath.Join(dir, "data"))
		}
		shared.err = err
	})
	must(t, shared.err)
	return shared.server
}

// ownPostgres returns a server that a test may break.
func ownPostgres(t *testing.T) *postgresServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "relist-sinks-") //nolint:usetesting // a socket needs a short path
	must(t, err)
	server, err := newPostgres(dir, filepath.Join(dir, "data"))
	t.Cleanup(func() {
		if server != nil {
			must(t, server.stop())
		}
		must(t, os.RemoveAll(dir))
	})
	must(t, err)
	return server
}

// newPostgres makes a server in a folder, with its data in another one.
func newPostgres(dir, data string) (*postgresServer, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	s := &postgresServer{dir: dir, data: data, bin: bin}
	if os.Getuid() == 0 {
		if s.as, err = unprivileged(); err != nil {
			return s, err
		}
		for _, path := range []string{dir, filepath.Dir(data)} {
			if err := os.Chown(path, int(s.as.Uid), int(s.as.Gid)); err != nil {
				return s, err
			}
		}
	}
	initdb := s.command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1")
	if out, err := initdb.CombinedOutput(); err != nil {
		return s, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.start()
}

// postgresPrograms returns the folder that has them.
func postgresPrograms() (string, error) {
	if dir := os.Getenv("RELIST_POSTGRES_BIN"); dir != "" {
		return dir, nil
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 { // the pattern is right
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("no PostgreSQL server here, and these tests start one of their own: install it (Debian: apt-get install postgresql), or set RELIST_POSTGRES_BIN to the folder that initdb and postgres are in")
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
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
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
	}
	return nil, errors.New("postgres does not run as root, and there is neither a user postgres nor nobody")
}

func (s *postgresServer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = processAttributes()
	cmd.SysProcAttr.Credential = s.as
	return cmd
}

// start starts the server, and waits until it answers.
func (s *postgresServer) start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{
		"-D", s.data, "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=60",
		"-c", "shared_buffers=32MB", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_wal_size=4MB", "-c", "min_wal_size=2MB",
	}
	s.cmd = s.command("postgres", args...)
	if s.limit > 0 && s.limit < 1<<40 {
		s.cmd.Path = "/bin/sh"
		s.cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, s.limit/512), filepath.Join(s.bin, "postgres")}, args...)
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it has ended stands in its log
	}()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		conn, err := pgx.Connect(ctx, s.url())
		if err == nil {
			err = conn.Close(ctx)
			cancel()
			return err
		}
		cancel()
		select {
		case <-ended:
			text, _ := os.ReadFile(filepath.Join(s.dir, "log")) // it is for reading by people
			return fmt.Errorf("postgres has ended: %w\n%s", err, text[max(0, len(text)-2000):])
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server as its service does, and every session with it.
func (s *postgresServer) stop() error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGINT) // it may have ended
	select {
	case <-s.ended:
		return nil
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.ended
		return errors.New("postgres did not end when it was told to")
	}
}

func (s *postgresServer) url() string {
	return "postgres://postgres@/postgres?" + url.Values{"host": {s.dir}, "port": {"5432"}}.Encode()
}
