package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/internal/pgserver"
)

// terminate ends the sessions of all copies.
func (r *rig) terminate() {
	r.t.Helper()
	sessions := `FROM pg_stat_activity WHERE application_name = 'relist'`
	exec1(r.t, r.admin, `SELECT pg_terminate_backend(pid) `+sessions)
	eventually(r.t, "the sessions have ended", func() bool { return query(r.t, r.admin, `SELECT count(*) `+sessions) == "0" })
}

func TestTerminated(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	state = write(t, c, state, "1", put("a", 1, 1))

	r.terminate()
	if got := load(t, c); got.Point.Version != "1" { // it connects again by itself
		t.Errorf("Load says version %s", got.Point.Version)
	}
	r.terminate()
	if _, err := c.Begin(t.Context(), state, false); err == nil || errors.Is(err, durable.ErrFenced) {
		t.Errorf("Begin in a session that was terminated: %v", err)
	}
	if _, err := c.Held(t.Context(), []string{"a"}); err == nil {
		t.Error("Held without a connection: no error")
	}
	load(t, c)

	for _, when := range []string{"before Write", "before Commit", "before Rollback"} {
		tx, err := c.Begin(t.Context(), state, false)
		must.OK(t, err)
		if when != "before Write" {
			must.OK(t, tx.Write(t.Context(), []durable.Change[[]byte]{put("a", 1, 2), put("b", 1, 2)}))
		}
		r.terminate()
		switch when {
		case "before Write":
			err = tx.Write(t.Context(), []durable.Change[[]byte]{put("a", 1, 2)})
		case "before Commit":
			err = tx.Commit(t.Context(), at(state, "2"))
		case "before Rollback":
			if err := tx.Rollback(); err != nil {
				t.Errorf("Rollback = %v: there is nothing left to be rolled back", err)
			}
			err = io.EOF
		}
		if err == nil {
			t.Errorf("terminated %s: no error", when)
		}
		if got := load(t, c); got.Point.Version != "1" {
			t.Errorf("terminated %s: Load says version %s", when, got.Point.Version)
		}
		r.want("a u1 1")
	}
	write(t, c, state, "3", put("a", 1, 3))
}

// stateAt is what the rows are after the transactions up to version; transaction n makes
// changesOf(n).
func stateAt(version int) []string {
	rows := map[string]string{}
	for n := 1; n <= version; n++ {
		for _, change := range changesOf(n) {
			if change.Op == durable.Put {
				rows[change.Meta.Key] = fmt.Sprintf("%s u1 %d", change.Meta.Key, n)
			} else {
				delete(rows, change.Meta.Key)
			}
		}
	}
	var all []string
	for _, row := range rows {
		all = append(all, row)
	}
	slices.Sort(all)
	return all
}

func changesOf(n int) []durable.Change[[]byte] {
	key := func(n int) string { return fmt.Sprintf("k%02d", n%40) }
	return []durable.Change[[]byte]{put(key(7*n), 1, n), gone(durable.Deleted, key(11*n+3)), put(key(13*n+5), 1, n)}
}

// proxy is a network between programs and the server, which can be cut: then no byte gets through,
// and nobody is told.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	open     chan struct{} // closed while bytes get through
}

func newProxy(t *testing.T, s *pgserver.Server) *proxy {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.OK(t, err)
	p := &proxy{listener: listener, open: make(chan struct{})}
	close(p.open)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(client, filepath.Join(s.Dir, ".s.PGSQL.5432"))
		}
	}()
	return p
}

func (p *proxy) wait() {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	<-open
}

func (p *proxy) forward(client net.Conn, to string) {
	p.wait()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "unix", to)
	if err != nil {
		_ = client.Close()
		return
	}
	pipe := func(to, from net.Conn) {
		buffer := make([]byte, 4096)
		for {
			n, err := from.Read(buffer)
			p.wait()
			if n > 0 {
				if _, err := to.Write(buffer[:n]); err != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		_ = to.Close()
		_ = from.Close()
	}
	go pipe(client, server)
	pipe(server, client)
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.open)
}

func TestNetworkCut(t *testing.T) {
	r := newRig(t)
	p := newProxy(t, r.s)
	host, port, err := net.SplitHostPort(p.listener.Addr().String())
	must.OK(t, err)
	address := r.s.URL("postgres", url.Values{"host": {host}, "port": {port}, "sslmode": {"disable"}})
	r.opts.Timeout = 300 * time.Millisecond
	open := func() *postgres.Copy[[]byte] { // a machine with much to do can need longer
		var c *postgres.Copy[[]byte]
		eventually(t, "a copy through the proxy", func() bool {
			db, err := postgres.Open(t.Context(), address, r.opts)
			if err == nil {
				c = r.copy(db, pods)
				_, err = c.Load(t.Context())
			}
			return err == nil
		})
		return c
	}
	c := open()
	r.opts.Timeout = time.Minute
	committed := func() durable.State { return load(t, r.copy(r.open(), pods)) }

	// Whatever a call comes to, the rows are those of the version.
	for n := range 6 {
		var state durable.State
		eventually(t, "Load", func() bool { state, err = c.Load(t.Context()); return err == nil })
		version, _ := strconv.Atoi(state.Point.Version)
		var tx durable.Tx[[]byte]
		eventually(t, "Begin", func() bool {
			if tx, err = c.Begin(t.Context(), state, false); err != nil {
				_, _ = c.Load(t.Context())
			}
			return err == nil
		})
		if n%2 == 0 {
			p.cut()
		}
		err := tx.Write(t.Context(), changesOf(version+1))
		if n%2 == 1 {
			p.cut()
		}
		if err == nil {
			err = tx.Commit(t.Context(), at(state, strconv.Itoa(version+1)))
		}
		if err == nil {
			t.Errorf("round %d: no error while the network is cut", n)
		}
		fails(t, "a network that is cut", err, "the database has not answered within 300ms")
		if _, err := c.Load(t.Context()); err == nil {
			t.Error("Load while the network is cut: no error")
		}
		p.mend()
		eventually(t, "Load after the cut", func() bool { _, err := c.Load(t.Context()); return err == nil })
		now, _ := strconv.Atoi(committed().Point.Version)
		if now != version && now != version+1 {
			t.Fatalf("version %d after %d", now, version)
		}
		r.want(stateAt(now)...)
	}
}

// TestDatabaseAway has no server at all for a while.
func TestDatabaseAway(t *testing.T) {
	away := &pgserver.Server{Dir: t.TempDir()}
	_, err := postgres.Open(t.Context(), away.URL("postgres", nil), postgres.Options{})
	fails(t, "no server", err, "postgres: open schema relist", "no such file or directory")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error has lost its cause: %v", err)
	}
}
