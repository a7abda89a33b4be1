// Package pgserver runs PostgreSQL for tests: a server of their own, on a Unix
// socket in a folder of its own. It must be installed. It is looked for in the folder
// RELIST_POSTGRES_BIN, in PATH and in /usr/lib/postgresql.
package pgserver

import (
	"cmp"
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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relist-go/relist/test/internal/child"
)

// ErrNotInstalled says that there is no PostgreSQL.
var ErrNotInstalled = errors.New(`no PostgreSQL server here: this starts one of its own, and needs the programs initdb and postgres.
Install them (Debian: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql),
or set RELIST_POSTGRES_BIN to the folder that they are in`)

// patience bounds the wait for a server that starts or ends.
const patience = time.Minute

// Server is a server of PostgreSQL.
type Server struct {
	// Dir is its folder. What is put there goes with the server.
	Dir string

	// MaxFile bounds the size of each file that the server writes, in bytes, from its next start
	// on. If zero, there is no limit.
	MaxFile uint64

	bin   string
	as    *syscall.Credential // postgres does not run as root
	args  []string
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// New makes a server with these settings, and starts it. The flags are those of initdb. Nobody asks
// what is left after a crash of the machine, so the server does not wait for the disk.
//
// The superuser is called postgres. No role needs a password but with_password.
func New(settings []string, flags ...string) (s *Server, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "relist-postgres-") // the path of a socket must be short
	if err != nil {
		return nil, err
	}
	s = &Server{Dir: dir, bin: bin}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Remove())
		}
	}()
	if os.Getuid() == 0 {
		if s.as, err = unprivileged(); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	initdb := s.command("initdb", append(flags, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")...)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	hba := []byte("local all with_password scram-sha-256\nlocal all all trust\n")
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), hba, 0o600); err != nil {
		return nil, err
	}
	s.args = []string{"-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off"}
	for _, setting := range settings {
		s.args = append(s.args, "-c", setting)
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	return s, nil
}

// programs returns the folder that has initdb and postgres, of the newest version.
func programs() (string, error) {
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
		return "", ErrNotInstalled
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for what is not a version
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) })), nil
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

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, name), args...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = child.Attributes()
	cmd.SysProcAttr.Credential = s.as
	return cmd
}

// Start starts the server again, and waits until it answers. The processes of the server before may
// still be there, and the server does not start: so it is started again.
func (s *Server) Start() error {
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // it is for reading by people
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		s.cmd = s.command("postgres", s.args...)
		if s.MaxFile > 0 && s.MaxFile < 1<<40 {
			s.cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, s.MaxFile/512), s.cmd.Path}, s.args...)
			s.cmd.Path = "/bin/sh"
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
		if err = s.answers(); err == nil {
			return nil
		}
	}
	text, _ := os.ReadFile(log.Name()) // it is for reading by people
	return fmt.Errorf("postgres does not start: %w\n%s", err, text[max(0, len(text)-2000):])
}

// answers waits until the server answers, or has ended.
func (s *Server) answers() error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		conn, err := pgx.Connect(ctx, s.URL("postgres", nil))
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

// Stop ends the server as its service does, and every session with it.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

// Remove ends the server at once, and removes its folder.
func (s *Server) Remove() error { return errors.Join(s.end(syscall.SIGQUIT), os.RemoveAll(s.Dir)) }

func (s *Server) end(by syscall.Signal) error {
	if s.ended == nil {
		return nil // it was never started
	}
	_ = s.cmd.Process.Signal(by) // it may have ended
	select {
	case <-s.ended:
		return nil
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.ended
		return fmt.Errorf("postgres did not end within %v of %v", patience, by)
	}
}

// PID is the process whose children are the server's sessions.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// URL is the address of the server for a role, with more parameters.
func (s *Server) URL(role string, more url.Values) string {
	query := url.Values{"host": {s.Dir}, "port": {"5432"}}
	for name, values := range more {
		query[name] = values
	}
	return "postgres://" + url.UserPassword(role, "").Username() + "@/postgres?" + query.Encode()
}
