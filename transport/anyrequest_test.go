package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// closable is a body that cannot be read once it was closed, and counts that.
type closable struct {
	io.Reader
	closed atomic.Int32
}

func newClosable(text string) *closable { return &closable{Reader: strings.NewReader(text)} }

func (c *closable) Read(p []byte) (int, error) {
	if c.closed.Load() > 0 {
		return 0, errors.New("read after close")
	}
	return c.Reader.Read(p)
}

func (c *closable) Close() error { c.closed.Add(1); return nil }

// echo answers with the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusTeapot)
	_, _ = io.WriteString(w, strings.Join([]string{r.Method, r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("User-Agent"), r.Header.Get("Impersonate-User"), string(body)}, " "))
}

// roundTrip sends a request, and returns the status and the body of the answer.
func roundTrip(t *testing.T, c *Client, r *http.Request) (int, string) {
	t.Helper()
	resp, err := c.RoundTripper().RoundTrip(r)
	must.OK(t, err)
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func newRequest(t *testing.T, method, target string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, body)
	must.OK(t, err)
	return r
}

// The first request makes the connection, and the second finds it. Over HTTP/2, making one closes a
// body.
func TestAnyRequestOnEveryWire(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			cfg := w.serve(t, echo)
			cfg.Server += "/prefix"
			cfg.BearerToken, cfg.UserAgent, cfg.Impersonate.User = "the-token", "me/1", "jane"
			c := newTestClient(t, cfg)
			for range 2 {
				body := newClosable("some text")
				r := newRequest(t, http.MethodPost, "/api/a%2Fb?x=1&a=2", body)
				before := r.Clone(t.Context())
				code, got := roundTrip(t, c, r)
				if want := "POST /prefix/api/a%2Fb?x=1&a=2 Bearer the-token me/1 jane some text"; got != want || code != http.StatusTeapot {
					t.Errorf("%d %s\nwant %s", code, got, want)
				}
				if len(r.Header) != len(before.Header) || r.URL.String() != before.URL.String() || r.Body != io.ReadCloser(body) {
					t.Error("the request has changed")
				}
				waitFor(t, func() bool { return body.closed.Load() > 0 })
			}
			r := newRequest(t, http.MethodGet, cfg.Server+"/own", nil)
			r.Header.Set("Authorization", "Basic own")
			r.Header.Set("User-Agent", "other/2")
			r.Host = "other.example" // the server must not be told another name
			if _, got := roundTrip(t, c, r); got != "GET /prefix/own Basic own other/2 jane " {
				t.Errorf("answer %s", got)
			}
		})
	}
}

func TestAnyRequestGoesToTheServerOnly(t *testing.T) {
	var sent []string
	tripper := roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.URL.String())
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
	})
	for _, tt := range []struct{ server, url, want, err string }{
		{server: "https://api.example/prefix", url: "/api", want: "https://api.example/prefix/api"},
		{server: "https://api.example/prefix", url: "https://api.example/prefix/api?x=%20", want: "https://api.example/prefix/api?x=%20"},
		{server: "https://api.example/prefix", url: "https://API.example:443/prefix", want: "https://api.example/prefix/"},
		{server: "https://api.example:443", url: "https://api.example/a%2Fb#f", want: "https://api.example:443/a%2Fb"},
		{server: "http://10.0.0.1", url: "http://10.0.0.1:80/", want: "http://10.0.0.1/"},
		{server: "unix:///run/api.sock", url: "http://localhost/api", want: "http://localhost/api"},
		{server: "https://api.example/prefix", url: "https://api.example/prefixed/api", err: "not one of the server https://api.example/prefix,"},
		{server: "https://api.example/prefix", url: "https://api.example/api", err: "not one of the server"},
		{server: "https://api.example/prefix", url: "https://api.example/prefix/../x", err: "has a dot segment"},
		{server: "https://api.example/prefix", url: "/../x", err: "has a dot segment"},
		{server: "https://api.example/prefix", url: "/%2e%2e/x", err: "has a dot segment"},
		{server: "https://api.example", url: "https://other.example/api", err: "get https://other.example/api: the URL is not one of the server https://api.example, to which alone the credentials go"},
		{server: "https://api.example", url: "https://api.example:6443/api", err: "not one of the server"},
		{server: "https://api.example", url: "http://api.example/api", err: "not one of the server"},
		{server: "https://api.example", url: "//other.example/api", err: "not one of the server"},
		{server: "https://api.example", url: "//api.example/api", err: "not one of the server"},
		{server: "https://api.example", url: "https://me:s3cr3t-word@other.example/api?token=s3cr3t", err: "get https://other.example/api: "},
		{server: "https://api.example", url: "https:api", err: "not one of the server"},
		{server: "https://api.example", url: "api/v1", err: "is not absolute"},
		{server: "https://api.example", url: "", err: "is not absolute"},
		{server: "unix:///run/api.sock", url: "http://127.0.0.1/api", err: "not one of the server unix:///run/api.sock,"},
	} {
		sent = nil
		c := newTestClient(t, Config{Server: tt.server, RoundTripper: tripper})
		u, err := url.Parse(tt.url)
		must.OK(t, err)
		body := newClosable("x")
		resp, err := c.RoundTripper().RoundTrip(&http.Request{URL: u, Body: body}) //nolint:bodyclose // it has none
		switch {
		case tt.err != "":
			checkError(t, err, tt.err)
			if strings.Contains(err.Error(), "s3cr3t") || len(sent) > 0 || body.closed.Load() == 0 {
				t.Errorf("%s: %v; sent %q, body closed %d times", tt.url, err, sent, body.closed.Load())
			}
		case err != nil || strings.Join(sent, " ") != tt.want:
			t.Errorf("%s at %s: sent %q, %v, want %s", tt.url, tt.server, sent, err, tt.want)
		case resp.Request.URL != u:
			t.Error("the answer is to another request")
		}
	}
	_, err := newTestClient(t, Config{Server: "https://api.example"}).RoundTripper().RoundTrip(new(http.Request)) //nolint:bodyclose // it has none
	checkError(t, err, "the request has no URL")
}

// A redirect is relative to the URL that was sent, also if the server has a path of its own.
func TestAnyRequestIsRedirectedBelowTheServersPath(t *testing.T) {
	for location, want := range map[string]string{
		"/prefix/there":                    "https://api.example/prefix/there",
		"there?x=y":                        "https://api.example/prefix/there?x=y",
		"https://api.example/prefix/there": "https://api.example/prefix/there",
		"/there":                           "", // it is beside the server
		"//other.example/prefix/there":     "",
		":":                                "",
	} {
		for _, from := range []string{"/here", "https://api.example/prefix/here"} {
			var sent []string
			c := newTestClient(t, Config{Server: "https://api.example/prefix", RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, r.URL.String())
				if len(sent) == 1 {
					return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {location}}, Body: http.NoBody}, nil
				}
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
			})})
			resp, err := (&http.Client{Transport: c.RoundTripper()}).Do(newRequest(t, http.MethodGet, from, nil))
			if err == nil {
				_ = resp.Body.Close()
			}
			if got := strings.Join(sent[1:], " "); got != want || (err == nil) != (want != "") {
				t.Errorf("%s from %s: sent %q, %v, want %q", location, from, got, err, want)
			}
		}
	}
}

// A 401 is answered by another attempt if there is another token, and then only if the whole body
// is there to send.
func TestAnyRequestAfterTheTokenWasRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	rotate := func(token string) {
		t.Helper()
		must.OK(t, os.WriteFile(path, []byte(token), 0o600))
	}
	rotate("first-token")
	synctest.Test(t, func(t *testing.T) {
		network, server := memnet.New(), &tokenServer{accepted: "first-token"}
		var got []string
		defer serveOn(network, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = append(got, string(body))
			server.ServeHTTP(w, r)
		})()
		var problems []string
		c := newTestClient(t, Config{
			Server: "http://127.0.0.1", Dial: network.Dial, BearerTokenFile: path,
			OnProblem: func(err error) { problems = append(problems, err.Error()) },
		})
		defer c.Close()
		send := func(body io.Reader, wantCode int, wantBodies, wantSeen string) {
			t.Helper()
			got = nil
			code, text := roundTrip(t, c, newRequest(t, http.MethodPatch, "/x", body))
			if seen := server.take(); code != wantCode || strings.Join(got, ",") != wantBodies || seen != wantSeen {
				t.Errorf("%d, sent %q with %q; want %d, %q, %q", code, got, seen, wantCode, wantBodies, wantSeen)
			}
			if wantCode == http.StatusUnauthorized && !strings.Contains(text, `"reason":"Unauthorized"`) {
				t.Errorf("the answer is %q", text)
			}
		}
		send(strings.NewReader("a"), 200, "a", "first-token")
		rotate("second-token")
		server.accepted = "second-token"
		send(strings.NewReader("b"), 200, "b,b", "first-token second-token") // GetBody
		server.accepted = "third-token"
		send(strings.NewReader("c"), 401, "c", "second-token") // no other token
		rotate("third-token")
		once := newClosable("d")
		send(once, 401, "d", "second-token") // it cannot be read twice
		send(nil, 200, "", "third-token")
		if once.closed.Load() == 0 {
			t.Error("a body was not closed")
		}
		if len(problems) > 0 {
			t.Errorf("problems %q", problems)
		}
		must.OK(t, os.Remove(path))
		server.accepted = "fourth-token"
		send(strings.NewReader("e"), 401, "e", "third-token")
		if len(problems) != 1 || !strings.Contains(problems[0], "401 Unauthorized (and a new token cannot be read: ") {
			t.Errorf("problems %q", problems)
		}
	})
}

// A server that gives a connection up may have done what a POST asked for; a GET does no harm
// twice.
func TestOnlySafeRequestsAreSentTwice(t *testing.T) {
	converse(t, func(c *frameConn, stream uint32, path string) {
		if c.number == 1 {
			c.goAway(stream, http2.ErrCodeNo)
			c.disconnect()
			return
		}
		one(c, stream, path)
	}, func(v *conversation) {
		body := newClosable("x")
		r := newRequest(v.t, http.MethodPost, "/post", body)
		r.GetBody = func() (io.ReadCloser, error) { return newClosable("x"), nil }
		_, err := v.client.RoundTripper().RoundTrip(r) //nolint:bodyclose // it has none
		checkError(v.t, err, "post http://api.example/post: ")
		v.wantRequests("1:1:/post")
		if body.closed.Load() == 0 {
			v.t.Error("the body was not closed")
		}
	})
	converse(t, func(c *frameConn, stream uint32, path string) {
		if c.number == 1 {
			c.goAway(stream, http2.ErrCodeNo)
			c.disconnect()
			return
		}
		one(c, stream, path)
	}, func(v *conversation) {
		roundTrip(v.t, v.client, newRequest(v.t, http.MethodGet, "/get", nil))
		v.wantRequests("1:1:/get 2:1:/get")
	})
}

// A certificate is rotated after a connection could not be made, and then the request goes out
// once. A POST that was sent does not go out again.
func TestWritesAfterCertificatesWereRotated(t *testing.T) {
	for _, tt := range []struct {
		method string
		sent   bool
		again  bool
	}{{http.MethodPost, false, true}, {http.MethodPost, true, false}, {http.MethodGet, true, true}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRotation(t, ProtocolHTTP1)
			defer r.close()
			c := newTestClient(t, r.client.connections.cfg)
			defer c.Close()
			first := c.connections.current
			next := first.RoundTripper
			first.RoundTripper = roundTripper(func(hr *http.Request) (*http.Response, error) {
				r.volume.replace(filesOf(t, r.oldCA, r.newCert))
				if tt.sent {
					resp, err := next.RoundTrip(hr)
					if err != nil {
						return nil, err
					}
					_ = resp.Body.Close()
				} else {
					_ = hr.Body.Close()
				}
				return nil, errors.New("cut")
			})
			resp, err := c.Do(t.Context(), tt.method, Request{Path: "/get"}, []byte("{}"))
			if err == nil {
				resp.Body.Close()
			}
			if again := err == nil; again != tt.again {
				t.Errorf("%s, sent %v: sent again %v, %v", tt.method, tt.sent, again, err)
			}
		})
	}
}

func TestDo(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/conflict" {
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"changed meanwhile","reason":"Conflict","code":409}`, http.StatusConflict)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.Join([][]byte{[]byte(r.Method), []byte(r.URL.String()), []byte(r.Header.Get("Content-Type")), []byte(r.Header.Get("Accept")), body}, []byte(" ")))
	})
	c := newTestClient(t, cfg)
	do := func(method, path, body string) (string, error) {
		resp, err := c.Do(t.Context(), method, Request{Path: path, Query: url.Values{"force": {"true"}}, Header: http.Header{"Content-Type": {"x/y"}}}, []byte(body))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return string(got), err
	}
	if got, err := do(http.MethodPatch, "/x", "{}"); err != nil || got != "PATCH /x?force=true x/y application/json {}" {
		t.Errorf("answer %q, %v", got, err)
	}
	_, err := do(http.MethodPut, "/conflict", "{}")
	checkError(t, err, "put "+cfg.Server+"/conflict: 409 Conflict: changed meanwhile")
	if status := statusOf(t, err); status.Code != 409 {
		t.Errorf("status %+v", status)
	}
	_, err = do("NOT A METHOD", "/", "")
	checkError(t, err, "invalid method")
}

// An attempt that has read nothing leaves the body to the next one, and can neither read nor close
// it from then on.
func TestGivenBody(t *testing.T) {
	body := newClosable("text")
	first := &givenBody{body: body}
	second := first.again()
	_ = first.Close()
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, errLeft) {
		t.Errorf("the first attempt reads: %v", err)
	}
	_ = second.Close() // as net/http does when it has made a connection
	third := second.again()
	if got, err := io.ReadAll(third); err != nil || string(got) != "text" {
		t.Errorf("the third attempt reads %q, %v", got, err)
	}
	_ = second.Close() // late
	if third.again() != nil || body.closed.Load() != 0 {
		t.Errorf("a body that was read can be had again, or was closed %d times", body.closed.Load())
	}
	if _ = third.Close(); body.closed.Load() != 1 {
		t.Errorf("closed %d times", body.closed.Load())
	}
}
