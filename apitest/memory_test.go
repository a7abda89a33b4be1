package apitest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// inMemory starts a server in memory and an HTTP client of it.
func inMemory(t *testing.T, opts Options) *fixture {
	t.Helper()
	server, listener := StartInMemory(t, opts)
	return &fixture{t, server, &http.Client{Transport: memoryTransport(t, listener, false)}}
}

func memoryTransport(t *testing.T, listener *Listener, http2 bool) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: listener.Dial, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Three hours of bookmarks, one a minute, and the end of the watch after that.
func TestStartInMemory(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server, listener := StartInMemory(t, Options{})
			f := &fixture{t, server, &http.Client{Transport: memoryTransport(t, listener, http2)}}
			rv := f.create("shop/tea")
			f.touch("shop/tea") // a watch gets no bookmark before it has had an event
			began := time.Now()
			w := openWatch(t, f.client, listener.URL+"/api/v1/configmaps?watch=1&allowWatchBookmarks=true&timeoutSeconds=10800&resourceVersion="+rv)
			w.want("MODIFIED tea@3")
			bookmarks := 0
			for ; ; bookmarks++ {
				if _, err := w.next(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took != 3*time.Hour || bookmarks < 179 || bookmarks > 181 {
				t.Errorf("%d bookmarks in %v (HTTP/2: %v), want one for each minute of 3h", bookmarks, took, http2)
			}
		})
	}
}

// A client meets each fault of connections as it would over TCP.
func TestFaultsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inMemory(t, Options{})
		path := "http://localhost/api/v1/configmaps?watch=1&resourceVersion=" + f.create("shop/tea")

		w := openWatch(t, f.client, path)
		must.OK(t, f.Refuse(time.Hour))
		w.wantEnd(io.ErrUnexpectedEOF)
		if err := try(t, f.client, path); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v while the server refuses connections, want ECONNREFUSED", err)
		}
		pass(time.Hour)
		synctest.Wait()

		w = openWatch(t, f.client, path)
		if n := f.Cut(Cut{Reset: true}); n != 1 {
			t.Errorf("%d watches were cut, want 1", n)
		}
		w.wantEnd(syscall.ECONNRESET)

		watching, disconnect := context.WithCancel(t.Context())
		w = openWatchUntil(watching, t, f.client, path)
		if n := f.HalfOpen(); n != 1 {
			t.Errorf("%d connections went silent, want 1", n)
		}
		f.touch("shop/tea")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		silent := make(chan error, 1)
		go func() {
			_, err := w.next()
			silent <- err
		}()
		select {
		case err := <-silent:
			t.Errorf("a silent connection ended with %v", err)
		case <-ctx.Done():
		}
		disconnect()
		if err := <-silent; err == nil {
			t.Error("a closed watch continues")
		}
		if err := try(t, f.client, "http://localhost/api/v1/configmaps"); err != nil {
			t.Errorf("a new connection: %v", err)
		}
	})
}

// The bubble ends although net/http lingers on the connection of a request that it did not read to
// its end.
func TestInMemoryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inMemory(t, Options{Token: "secret"}) // the answer is a 401, and nobody reads the body
		body := io.MultiReader(strings.NewReader("{"), strings.NewReader(strings.Repeat(" ", 1<<20)))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/v1/namespaces/shop/configmaps", body)
		must.OK(t, err)
		resp, err := f.client.Do(req)
		must.OK(t, err)
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %s, want 401", resp.Status)
		}
	})
}

// Requests that are in the middle of something when the test ends do not keep it from ending.
func TestInMemoryEndsWhileInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := StartInMemory(t, Options{})
		f := &fixture{t, server, &http.Client{Transport: memoryTransport(t, listener, false)}}
		path := listener.URL + "/api/v1/configmaps?watch=1&resourceVersion=" + f.create("shop/tea")
		openWatch(t, f.client, path)
		f.HalfOpen()
		openWatch(t, f.client, path)
		if _, err := listener.Dial(t.Context(), "", ""); err != nil { // says nothing
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := server.Refuse(0); err != nil {
			t.Error(err)
		}
		if _, err := listener.Dial(ctx, "", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v of a dial, want ECONNREFUSED", err)
		}
	})
}

// Who has a port has no Dial.
func TestDialOfAPort(t *testing.T) {
	listener := must.Get[*Listener](t)(New(Options{}).Listen("127.0.0.1:0"))
	defer func() { _ = listener.Close() }()
	if _, err := listener.Dial(t.Context(), "", ""); err == nil || !strings.Contains(err.Error(), listener.URL) {
		t.Errorf("error %v, want one that names %s", err, listener.URL)
	}
}
