package apitest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// protocols are the ways to talk to a listener.
func protocols(t *testing.T, test func(t *testing.T, http2 bool)) {
	t.Run("HTTP/1.1", func(t *testing.T) { test(t, false) })
	t.Run("HTTP/2", func(t *testing.T) { test(t, true) })
}

func listen(t *testing.T, http2 bool) (*Server, *Listener, *http.Client) {
	t.Helper()
	s := New(Options{})
	l := must.Get[*Listener](t)(s.Listen("127.0.0.1:0"))
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: &p}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, l, &http.Client{Transport: transport}
}

func TestListen(t *testing.T) {
	protocols(t, func(t *testing.T, http2 bool) {
		s, l, client := listen(t, http2)
		a := request(t, client, "POST", l.URL+inD, `{"metadata":{"name":"a"}}`)
		if a.code != http.StatusCreated {
			t.Fatalf("%d %s", a.code, a.body)
		}
		resp := open(t, client, "GET", l.URL+configMaps+"&resourceVersion=2", "")
		defer func() { _ = resp.Body.Close() }()
		if (resp.ProtoMajor == 2) != http2 {
			t.Errorf("answered by %s", resp.Proto)
		}
		w := &watcher{t, bufio.NewReader(resp.Body)}
		must.Get[string](t)(s.Patch("configmaps", "d", "a", map[string]any{"data": map[string]any{"v": "1"}}))
		w.want("MODIFIED a@3")
		s.CutWatches(5)
		must.Get[string](t)(s.Delete("configmaps", "d", "a"))
		rest, err := io.ReadAll(w.r)
		if string(rest) != `{"typ` || err == nil {
			t.Errorf("cut at 5: %q, %v", rest, err)
		}
		if !http2 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut: %v", err)
		}
		if http2 && !strings.Contains(err.Error(), "INTERNAL_ERROR") {
			t.Errorf("cut: %v", err)
		}
	})
}

func TestReset(t *testing.T) {
	s, l, client := listen(t, false)
	w := openWatch(t, client, l.URL+configMaps+"&resourceVersion=1")
	must.Get[int](t)(s.Cut(Cut{Reset: true}))
	if _, err := io.ReadAll(w.r); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
}

func TestRefuse(t *testing.T) {
	protocols(t, func(t *testing.T, http2 bool) {
		s, l, client := listen(t, http2)
		w := openWatch(t, client, l.URL+configMaps+"&resourceVersion=1")
		must.OK(t, s.Refuse(0))
		if _, err := io.ReadAll(w.r); err == nil {
			t.Error("the watch had an orderly end")
		}
		if err := try(t, client, l.URL+"/version"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v, want connection refused", err)
		}
		must.OK(t, s.Resume())
		if a := request(t, client, "GET", l.URL+"/version", ""); a.code != http.StatusOK {
			t.Errorf("afterwards: %d", a.code)
		}
	})
}

func TestGoAwayOverHTTP2(t *testing.T) {
	s, l, client := listen(t, true)
	w := openWatch(t, client, l.URL+configMaps+"&resourceVersion=1")
	s.GoAway(1)
	request(t, client, "GET", l.URL+"/healthz", "")
	// The connection stays for the watch; what comes later takes another one.
	must.Get[string](t)(s.Create("configmaps", configMap("d", "a")))
	w.want("ADDED a@2")
	if a := request(t, client, "GET", l.URL+"/healthz", ""); a.body != "ok" {
		t.Errorf("after GOAWAY: %q", a.body)
	}
}

func TestReplicaListens(t *testing.T) {
	s, _, client := listen(t, false)
	b := s.Replica("b")
	b.Freeze()
	must.Get[string](t)(s.Create("configmaps", configMap("d", "a")))
	l := must.Get[*Listener](t)(b.Listen("127.0.0.1:0"))
	if a := request(t, client, "GET", l.URL+inD+"?resourceVersion=0", ""); !strings.Contains(a.body, `"items":[]`) {
		t.Errorf("the frozen replica has %s", a.body)
	}
}

// TestClose has every kind of request open when the server is closed, and looks for what is left.
func TestClose(t *testing.T) {
	protocols(t, func(t *testing.T, http2 bool) {
		s, l, client := listen(t, http2)
		b := must.Get[*Listener](t)(s.Replica("b").Listen("127.0.0.1:0"))
		var watches []*watcher
		for range 100 {
			watches = append(watches, openWatch(t, client, l.URL+configMaps+"&resourceVersion=1"))
		}
		full := openWatch(t, client, l.URL+"/api/v1/secrets?watch=1&resourceVersion=1")
		for range 12 { // more than the buffers of a connection hold, and nobody reads
			must.Get[string](t)(s.Create("secrets", map[string]any{
				"metadata": map[string]any{"namespace": "d", "generateName": "s-"}, "data": strings.Repeat("x", 1<<20),
			}))
		}
		watches = append(watches, full)
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			_ = try(t, client, b.URL+inD+"?resourceVersion=99") // however it ends, it ends
		}()
		s.Stall()
		watches = append(watches, openWatch(t, client, l.URL+configMaps+"&resourceVersion=1"))
		if err := s.Refuse(time.Hour); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil { // waits for nothing: the refusal lasts an hour
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
		for _, w := range watches {
			_, _ = io.ReadAll(w.r) // likewise
		}
		<-waiting
		if err := try(t, client, l.URL+"/version"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the port is still open: %v", err)
		}
		if _, err := s.Listen("127.0.0.1:0"); err == nil {
			t.Error("a closed server listens")
		}
		for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
			stacks := make([]byte, 1<<20)
			left := string(stacks[:runtime.Stack(stacks, true)])
			if !strings.Contains(left, "apitest.(*Server).serve(") && !strings.Contains(left, "apitest.(*Listener)") {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("goroutines are left:\n%s", left)
			}
		}
	})
}

// A request that waits for its version when the server is closed is told why. To come back, as a
// cache that is not ready asks, would be in vain.
func TestCloseWhileAReadWaits(t *testing.T) {
	for _, path := range []string{inD + "?resourceVersion=99", configMaps + "&resourceVersion=99&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				if a := f.get(path); a.code != http.StatusServiceUnavailable || !strings.Contains(a.body, "apiserver is shutting down") {
					t.Errorf("%s: %d %s", path, a.code, a.body)
				}
			}()
			synctest.Wait()
			_ = f.Close()
			<-done
		})
	}
}

func TestListenOnATakenPort(t *testing.T) {
	s, l, _ := listen(t, false)
	if _, err := s.Listen(strings.TrimPrefix(l.URL, "http://")); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v, want address in use", err)
	}
}

// A port that somebody else has taken is not lost forever, nor are the others.
func TestResumeWhereAPortIsTaken(t *testing.T) {
	s := New(Options{})
	t.Cleanup(func() { _ = s.Close() })
	var listeners []*Listener
	for range 2 {
		l, err := s.Listen("127.0.0.1:0")
		must.OK(t, err)
		listeners = append(listeners, l)
	}
	must.OK(t, s.Refuse(0))
	taken := must.Get[net.Listener](t)(net.Listen("tcp", strings.TrimPrefix(listeners[0].URL, "http://"))) //nolint:noctx // a number
	if err := s.Resume(); err == nil || !strings.Contains(err.Error(), listeners[0].URL) {
		t.Errorf("resumed with the port taken: %v", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if err := try(t, client, listeners[1].URL); err != nil {
		t.Errorf("another port: %v", err)
	}
	must.OK(t, taken.Close())
	if err := s.Resume(); err != nil {
		t.Error(err)
	}
	if err := try(t, client, listeners[0].URL); err != nil {
		t.Errorf("the port that was taken: %v", err)
	}
}
