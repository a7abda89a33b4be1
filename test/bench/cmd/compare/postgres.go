package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// errNoPostgres says that the cases with PostgreSQL are left out.
var errNoPostgres = errors.New("no PostgreSQL is installed here (RELIST_POSTGRES_BIN may name the folder of initdb)")

// postgresPatience is how long a server may take to start.
const postgresPatience = time.Minute

// newPostgres starts a server with an empty database, on a socket in a folder of its own. Its settings are the defaults.
func newPostgres(ctx context.Context) (flags []string, drop func() error, err error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "bench-postgres-")
	if err != nil {
		return nil, nil, err
	}
	s := &postgres{bin: bin, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.drop())
		}
	}()
	if err := s.start(ctx); err != nil {
		return nil, nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return []string{
		fmt.Sprintf("-database=postgres://postgres@/postgres?host=%s", dir),
		fmt.Sprintf("-database-pid=%d", s.server.Process.Pid),
	}, s.drop, nil
}

type postgres struct {
	bin, dir string
	as       *syscall.SysProcAttr
	server   *exec.Cmd // nil if it has not started
}

// start makes a database and starts the server. PostgreSQL refuses to run as root.
func (s *postgres) start(ctx context.Context) error {
	if os.Getuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return err
		}
		uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(s.dir, int(uid), int(gid))); err != nil { //nolint:gosec // of 32 bits
			return err
		}
		s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	data := filepath.Join(s.dir, "data")
	initdb := s.command(ctx, "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server := s.command(ctx, "postgres", "-D", data, "-k", s.dir, "-c", "listen_addresses=")
	if err := server.Start(); err != nil {
		return err
	}
	s.server = server
	deadline := time.After(postgresPatience)
	for {
		err := s.command(ctx, "pg_isready", "-q", "-h", s.dir).Run()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.as
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return cmd
}

// drop stops the server at once, and removes its folder.
func (s *postgres) drop() error {
	if s.server != nil {
		_ = s.server.Process.Signal(syscall.SIGQUIT) // it may have ended
		_ = s.server.Wait()                          // after that signal it ends with an error
	}
	return os.RemoveAll(s.dir)
}

// postgresPrograms returns the folder that has initdb and postgres, of the newest version.
func postgresPrograms() (string, error) {
	if dir := os.Getenv("RELIST_POSTGRES_BIN"); dir != "" {
		return dir, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dir := filepath.Dir(path)
			if _, err := os.Stat(filepath.Join(dir, "initdb")); !errors.Is(err, fs.ErrNotExist) {
				return dir, nil
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	if len(found) == 0 {
		return "", errNoPostgres
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for what is not a version
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) })), nil
}
