package transport

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

func pemOf(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestGetAndWatchOnEveryWire(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			more := make(chan struct{})
			cfg := w.serve(t, func(rw http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != w.want {
					t.Errorf("server sees %s, want HTTP/%d", r.Proto, w.want)
				}
				if r.URL.Query().Get("watch") == "" {
					rw.Header().Set("Content-Type", "application/json; charset=utf-8")
					_, _ = io.WriteString(rw, r.URL.String())
					return
				}
				writeFrames(rw, `{"n":1}`)
				<-more // the second is not sent before the first was received
				writeFrames(rw, `{"n":2}`)
			})
			cfg.Server += "/prefix/"
			c := newTestClient(t, cfg)

			resp, err := c.Get(t.Context(), Request{Path: EscapePath("api", "a/b c"), Query: url.Values{"b": {"2"}, "a": {"1 &"}}})
			must.OK(t, err)
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.Body.Close() != nil {
				t.Fatal(err)
			}
			if want := "/prefix/api/a%2Fb%20c?a=1+%26&b=2"; string(body) != want {
				t.Errorf("request %s, want %s", body, want)
			}
			if resp.MediaType != "application/json" || resp.StatusCode != 200 {
				t.Errorf("media type %q, status %d", resp.MediaType, resp.StatusCode)
			}

			s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/w", Query: url.Values{"watch": {"1"}}})
			must.OK(t, err)
			defer s.Close()
			if s.MediaType() != "application/json" {
				t.Errorf("media type %q", s.MediaType())
			}
			for n := 1; n <= 2; n++ {
				frame, err := s.Next()
				if err != nil || string(frame.Data) != fmt.Sprintf(`{"n":%d}`, n) {
					t.Fatalf("frame %d: %q, %v", n, frame.Data, err)
				}
				if n == 1 {
					close(more)
				}
			}
			for range 2 {
				if _, err := s.Next(); err != io.EOF { //nolint:errorlint // io.EOF itself is promised
					t.Fatalf("end: %v, want io.EOF", err)
				}
			}
		})
	}
}

func TestProtocolHTTP2RefusesAnOlderServer(t *testing.T) {
	cfg := wire{tls: true, protocol: ProtocolHTTP2}.serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newTestClient(t, cfg)
	if _, err := c.Get(t.Context(), Request{Path: "/"}); err == nil {
		t.Fatal("no error from a server that speaks HTTP/1.1 only")
	}
}

func TestRequestHeader(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"User-Agent", "Accept", "Authorization", "Accept-Encoding", "X-Extra"} {
			_, _ = fmt.Fprintf(w, "%s=%s;", name, r.Header.Get(name))
		}
	})
	cfg.BearerToken, cfg.UserAgent = "secret", "me/1"
	get := func(t *testing.T, cfg Config, req Request) string {
		t.Helper()
		req.Path = "/"
		resp, err := newTestClient(t, cfg).Get(t.Context(), req)
		must.OK(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must.OK(t, err)
		return string(body)
	}
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	check(get(t, cfg, Request{}), "User-Agent=me/1;Accept=application/json;Authorization=Bearer secret;Accept-Encoding=;X-Extra=;")
	extra := http.Header{"X-Extra": {"x"}, "Authorization": {"Bearer other"}, "Accept": {"no"}}
	check(get(t, cfg, Request{Accept: "application/cbor", Header: extra}), "User-Agent=me/1;Accept=application/cbor;Authorization=Bearer other;Accept-Encoding=;X-Extra=x;")
	cfg.BearerToken, cfg.Username, cfg.Password, cfg.UserAgent = "", "u", "p", ""
	check(get(t, cfg, Request{}), "User-Agent="+defaultUserAgent()+";Accept=application/json;Authorization=Basic dTpw;Accept-Encoding=;X-Extra=;")
}

func TestRequestPathIsChecked(t *testing.T) {
	c := newTestClient(t, Config{Server: "http://api.example", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("nothing may be sent")
	}})
	for path, want := range map[string]string{
		"":                  `path "" is not absolute`,
		"api":               "is not absolute",
		"/api?watch=1":      "use Request.Query",
		"/api#x":            "use Request.Query",
		"/api/../secrets":   "has a dot segment",
		"/api/%2e%2E/x":     "has a dot segment",
		"/api/./x":          "has a dot segment",
		"/api/%zz":          "is not escaped",
		"/a\x7fb":           "invalid",
		"//other.example/x": "nothing may be sent", // a path still: the host stays
	} {
		_, err := c.Get(t.Context(), Request{Path: path})
		checkError(t, err, want)
		checkError(t, err, "get http://api.example"+path)
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, want := range map[string]error{"refused": refused, "lost": io.ErrUnexpectedEOF} {
		c := newTestClient(t, Config{Server: "http://api.example:1", Dial: func(context.Context, string, string) (net.Conn, error) { return nil, want }})
		_, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/x"})
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v hides its cause", name, err)
		}
		checkError(t, err, "watch http://api.example:1/x: ")
		if name == "refused" && !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v is not ECONNREFUSED", err)
		}
	}
	t.Run("connection closed without an answer", func(t *testing.T) {
		_, err := newTestClient(t, answer(nil)).Get(t.Context(), Request{Path: "/x"})
		if !errors.Is(err, io.EOF) {
			t.Errorf("error %v is not io.EOF", err)
		}
	})
}

func TestBodyErrorNamesTheRequest(t *testing.T) {
	c := newTestClient(t, answer([]byte("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")))
	resp, err := c.Get(t.Context(), Request{Path: "/x"})
	must.OK(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v is not io.ErrUnexpectedEOF", err)
	}
	checkError(t, err, "get http://api.example/x: ")
}

func TestCancelEndsAPendingRequest(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			arrived := make(chan struct{})
			cfg := w.serve(t, func(_ http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-r.Context().Done()
			})
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-arrived
				cancel(why)
			}()
			_, err := newTestClient(t, cfg).Watch(ctx, Request{Frames: jsonFrames, Path: "/"})
			if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Errorf("error %v, want context.Canceled and its cause", err)
			}
		})
	}
}

// In a bubble, because net/http gives up a connection if its own goroutine is late by 50 ms to say
// that the request was sent.
func TestConnectionsAreReusedAfterErrors(t *testing.T) {
	large := strings.Repeat("x", 4095)
	answers := map[string]func(http.ResponseWriter){
		"/ok": func(w http.ResponseWriter) { writeFrames(w, large, large) },
		"/status": func(w http.ResponseWriter) {
			http.Error(w, `{"kind":"Status","code":410,"reason":"Expired"}`, http.StatusGone)
		},
		"/text":     func(w http.ResponseWriter) { http.Error(w, large[:3000], http.StatusBadGateway) },
		"/empty":    func(w http.ResponseWriter) { w.WriteHeader(500) },
		"/redirect": func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(302) },
		"/exact":    func(w http.ResponseWriter) { http.Error(w, large, http.StatusInternalServerError) }, // with the newline, as long as the bound
	}
	synctest.Test(t, func(t *testing.T) {
		network, dialled := memnet.New(), 0
		defer serveOn(network, func(w http.ResponseWriter, r *http.Request) { answers[r.URL.Path](w) })()
		c := newTestClient(t, Config{Server: "http://api.example", Dial: func(ctx context.Context, proto, addr string) (net.Conn, error) {
			dialled++
			return network.Dial(ctx, proto, addr)
		}})
		defer c.Close()
		c.maxError = 4096
		must.OK(t, getAll(t.Context(), c, "/ok"))
		for path := range answers {
			if path == "/ok" {
				continue
			}
			for _, ask := range []func() error{
				func() error { _, err := c.Get(t.Context(), Request{Path: path}); return err },
				func() error { _, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: path}); return err },
			} {
				if err := ask(); err == nil {
					t.Fatalf("%s: no error", path)
				}
				synctest.Wait()
				if dialled != 1 {
					t.Fatalf("%s: a second connection", path)
				}
			}
		}
	})
}

func TestErrorBodyThatNeverEndsIsGivenUp(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "more ")
		}
	})
	_, err := newTestClient(t, cfg).Get(t.Context(), Request{Path: "/"})
	checkError(t, err, "Internal Server Error: not a Status but")
}

func TestDialTimeout(t *testing.T) {
	stuck := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, p := range []Protocol{ProtocolHTTP1, ProtocolHTTP2} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, Config{Server: "http://api.example", Protocol: p, Dial: stuck})
			if _, err := c.Get(t.Context(), Request{Path: "/"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: error %v, want a deadline", p, err)
			}
		})
	}
}

// TestHeadersAreBounded has a server whose header has some megabytes.
func TestHeadersAreBounded(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			const megabytes = 3
			cfg := w.serve(t, func(rw http.ResponseWriter, _ *http.Request) {
				for i := range megabytes << 4 {
					rw.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1<<16))
				}
			})
			err := getAll(t.Context(), newTestClient(t, cfg), "/")
			if err == nil {
				t.Error("no error")
			}
		})
	}
}
