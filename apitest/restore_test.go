package apitest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/must"
)

// A server that was restored from a backup is another process: a watch of the one before hears
// nothing of what is written to it, not even of versions that it has not seen.
func TestWatchDoesNotOutliveARestoredBackup(t *testing.T) {
	for range 50 { // the restoration and the watch are two goroutines
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			backup := f.create("d/a") // 2
			f.touch("d/a")            // 3
			w := f.watch(configMaps + "&resourceVersion=3")
			must.OK(t, f.Restore(Restore{ResourceVersion: backup}))
			f.create("d/b", "d/c", "d/e") // 5
			w.wantEnd(io.ErrUnexpectedEOF)
		})
	}
}

func TestRestoredBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		backup := f.create("d/a", "d/b") // 3
		must.Get[string](t)(f.Delete("configmaps", "d", "a"))
		f.touch("d/b")
		f.create("d/c") // 6
		w := f.watch(configMaps + "&resourceVersion=6")
		must.OK(t, f.Restore(Restore{ResourceVersion: backup}))
		w.wantEnd(io.ErrUnexpectedEOF)
		if l := f.list("/api/v1/configmaps"); describe(l) != "3: d/a d/b" {
			t.Errorf("restored: %s", describe(l))
		}
		if l := f.list("/api/v1/configmaps?resourceVersion=6"); l.Code != http.StatusGatewayTimeout {
			t.Errorf("a client of the future gets %s", describe(l))
		}
		if rv := f.create("d/z"); rv != "4" {
			t.Errorf("the counter continues at %s", rv)
		}
		for _, rv := range []string{"99", "x"} {
			if err := f.Restore(Restore{ResourceVersion: rv}); err == nil {
				t.Errorf("a backup at %s was restored", rv)
			}
		}
	})
}

// countingConnections starts a server with a listener, whose connections a restoration can break,
// and a client of it.
func countingConnections(t *testing.T) (f *fixture, connections func() int) {
	t.Helper()
	server, listener := StartInMemory(t, Options{})
	n := 0
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		n++
		return listener.Dial(ctx, network, addr)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &fixture{t, server, &http.Client{Transport: transport}}, func() int { return n }
}

// A restoration breaks every connection: what the client sends next, it sends on another one. With
// KeepConnections it gets the next page on the same connection, of the restored storage.
func TestRestoreBetweenPages(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, connections := countingConnections(t)
			backup := f.create("d/a", "d/b")
			f.create("d/c")
			was := f.touch("d/a")
			first := f.list("/api/v1/configmaps?limit=2")
			if describe(first) != was+": d/a d/b ...1" {
				t.Fatal(describe(first))
			}
			must.OK(t, f.Restore(Restore{ResourceVersion: backup, KeepConnections: keep}))
			f.create("d/x")
			f.create("d/y") // the version of the first page again
			if l := f.list("/api/v1/configmaps?limit=2&continue=" + first.Metadata.Continue); describe(l) != was+": d/x d/y" {
				t.Errorf("the second page: %s", describe(l))
			}
			if got, want := connections(), map[bool]int{false: 2, true: 1}[keep]; got != want {
				t.Errorf("connections kept: %v: %d connections, want %d", keep, got, want)
			}
		})
	}
}

// A request that waits while a backup is restored is one of a conversation that breaks; with
// KeepConnections it is answered with what was restored.
func TestRestoreBeforeAWatch(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, _ := countingConnections(t)
			backup := f.create("d/a")
			was := f.touch("d/a")
			held, err := f.Hold("watch")
			must.OK(t, err)
			opened := make(chan error, 1)
			var w *watcher
			go func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://192.0.2.2:16443"+configMaps+"&resourceVersion="+was, nil)
				if err != nil {
					opened <- err
					return
				}
				resp, err := f.client.Do(req)
				if err == nil {
					t.Cleanup(func() { _ = resp.Body.Close() })
					w = &watcher{t, bufio.NewReader(resp.Body)}
				}
				opened <- err
			}()
			<-held
			if a := f.get("/_faults/"); !strings.Contains(a.body, "a watch waits") {
				t.Error(a.body)
			}
			must.OK(t, f.Restore(Restore{ResourceVersion: backup, KeepConnections: keep}))
			f.touch("d/a") // the version that the client knows
			must.OK(t, f.Resume())
			err = <-opened
			if !keep {
				if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
					t.Errorf("the watch got %v, want an end of its connection", err)
				}
				return
			}
			must.OK(t, err)
			f.touch("d/a")
			w.want("MODIFIED a@4")
		})
	}
}

func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a", "d/b")
		for _, verb := range []string{"", "discover", "wach"} {
			if _, err := f.Hold(verb); err == nil {
				t.Errorf("verb %q is held", verb)
			}
		}
		held, err := f.Hold("page")
		must.OK(t, err)
		first := f.list("/api/v1/configmaps?limit=1") // which is no page after another
		next := "/api/v1/configmaps?limit=1&continue=" + first.Metadata.Continue
		if a := f.get(next, spareHeader+": off"); a.code != http.StatusOK {
			t.Errorf("a spared page: %d", a.code)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server"+next, nil)
			if err == nil {
				_, err = f.client.Do(req) //nolint:bodyclose // it fails
			}
			gone <- err
		}()
		<-held
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a client that does not wait gets %v", err)
		}
		synctest.Wait()
		if a := f.get("/_faults/"); strings.Contains(a.body, "waits") || strings.Contains(a.body, "hold the next") {
			t.Errorf("nobody waits:\n%s", a.body)
		}
	})
}
