package transport

import (
	"encoding/base64"
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
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

// TestSocketHandshake has everything that the server is sent.
func TestSocketHandshake(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			var sent *http.Request
			cfg := w.serve(t, upgrade(func(s *serverSocket) {
				sent = s.req
				s.send(text("{}"), closing(1000, ""))
			}))
			server := cfg.Server
			cfg.Server += "/prefix/"
			cfg.WatchTransport = WatchWebSocket
			cfg.BearerToken = "s3cr3t-token"
			cfg.UserAgent = "test/1"
			s, err := newTestClient(t, cfg).Watch(t.Context(), Request{
				Frames: protobufOrJSON,
				Path:   "/api/v1/pods",
				Query:  url.Values{"watch": {"true"}, "resourceVersion": {"7"}},
				Accept: "application/vnd.kubernetes.protobuf,application/json",
				Header: http.Header{"Impersonate-User": {"ann"}, "Upgrade": {"h2c"}},
			})
			must.OK(t, err)
			defer s.Close()
			if f, err := s.Next(); err != nil || string(f.Data) != "{}" {
				t.Errorf("got %q, %v", f.Data, err)
			}
			if _, err := s.Next(); err != io.EOF { //nolint:errorlint // io.EOF itself is promised
				t.Errorf("error %v, want io.EOF", err)
			}
			if got, want := sent.RequestURI, "/prefix/api/v1/pods?resourceVersion=7&watch=true"; got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
			if key, err := base64.StdEncoding.DecodeString(sent.Header.Get("Sec-Websocket-Key")); err != nil || len(key) != 16 {
				t.Errorf("the key is %x, %v", key, err)
			}
			sent.Header.Del("Sec-Websocket-Key")
			want := http.Header{
				"Connection":            {"Upgrade"},
				"Upgrade":               {"websocket"},
				"Sec-Websocket-Version": {"13"},
				"Origin":                {server},
				"Authorization":         {"Bearer s3cr3t-token"},
				"Accept":                {"application/vnd.kubernetes.protobuf,application/json"},
				"Impersonate-User":      {"ann"},
				"User-Agent":            {"test/1"},
			}
			if diff := cmp.Diff(want, sent.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if sent.Proto != "HTTP/1.1" || sent.TLS != nil && sent.TLS.NegotiatedProtocol == "h2" {
				t.Errorf("%s, TLS %+v", sent.Proto, sent.TLS)
			}
		})
	}
}

// TestSocketRefusals has answers to a handshake, and what comes of them.
func TestSocketRefusals(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"R","code":0}`
	tests := []struct {
		name     string
		code     int
		header   http.Header
		body     string
		fallback bool
		wantErr  string
		is       func(error) bool
	}{
		{"a watch", 200, http.Header{"Content-Type": {"application/json"}}, `{"n":1}`, true, `the handshake was answered with 200 and "application/json"`, nil},
		{"a login page", 200, http.Header{"Content-Type": {"text/html"}}, "<html>", true, `answered with 200 and "text/html"`, nil},
		{"another success", 204, nil, "", true, "answered with 204", nil},
		{"403 without a word", 403, nil, "", true, "Forbidden: empty body", nil},
		{"403", 403, nil, status, false, "403 R: no", apierrors.IsForbidden},
		{"403 of a proxy", 403, nil, "no WebSockets here", false, "403 Forbidden", apierrors.IsForbidden},
		{"503", 503, nil, "", true, "Service Unavailable", apierrors.IsServiceUnavailable},
		{"503 of the server", 503, nil, status, false, "503 R: no", nil},
		{"400", 400, nil, "", false, "400 BadRequest", apierrors.IsBadRequest},
		{"401", 401, nil, status, false, "401 R: no", nil},
		{"404", 404, nil, "", false, "404 NotFound", apierrors.IsNotFound},
		{"410", 410, nil, strings.Replace(status, `"R"`, `"Expired"`, 1), false, "410 Expired: no", apierrors.IsResourceExpired},
		{"422", 422, nil, "", false, "422 Invalid", apierrors.IsInvalid},
		{"429", 429, http.Header{"Retry-After": {"7"}}, status, false, "429 R: no", func(err error) bool {
			seconds, ok := apierrors.SuggestsClientDelay(err)
			return ok && seconds == 7
		}},
		{"500", 500, nil, status, false, "500 R: no", nil},
		{"504", 504, nil, strings.Replace(status, `"R"`, `"Timeout"`, 1), false, "504 Timeout: no", apierrors.IsTimeout},
		{"a redirect", 302, http.Header{"Location": {"https://login.example/?state=secret"}}, "", false, `the server redirects to "https://login.example/"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var handshakes, plain atomic.Int32
			var problems []error
			cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Upgrade") == "" {
					plain.Add(1)
					writeFrames(w, `{"over":"HTTP"}`)
					return
				}
				handshakes.Add(1)
				for name, values := range tt.header {
					w.Header()[name] = values
				}
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.body)
			})
			cfg.WatchTransport = WatchWebSocket
			cfg.BearerToken = "s3cr3t-token"
			cfg.OnProblem = func(err error) { problems = append(problems, err) }
			c := newTestClient(t, cfg)
			for range 2 {
				s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
				if !tt.fallback {
					checkError(t, err, "watch "+cfg.Server+"/: ")
					checkError(t, err, tt.wantErr)
					if tt.is != nil && !tt.is(err) {
						t.Errorf("error %v is of another kind", err)
					}
					continue
				}
				must.OK(t, err)
				if f, err := s.Next(); err != nil || string(f.Data) != `{"over":"HTTP"}` {
					t.Errorf("got %q, %v", f.Data, err)
				}
				s.Close()
			}
			if !tt.fallback {
				if handshakes.Load() != 2 || plain.Load() != 0 || len(problems) != 0 {
					t.Errorf("%d handshakes, %d watches over HTTP, problems %v; want 2, 0 and none", handshakes.Load(), plain.Load(), problems)
				}
				return
			}
			if handshakes.Load() != 1 || plain.Load() != 2 || len(problems) != 1 {
				t.Fatalf("%d handshakes, %d watches over HTTP, problems %v; want 1, 2 and 1", handshakes.Load(), plain.Load(), problems)
			}
			var told *fallbackError
			if !errors.As(problems[0], &told) || told.URL != cfg.Server+"/" || tt.is != nil && !tt.is(told) {
				t.Errorf("problem %v", problems[0])
			}
			checkError(t, problems[0], tt.wantErr)
			checkError(t, problems[0], "watches go over HTTP for the next 1h0m0s")
		})
	}
}

// TestFallbackIsForgotten tries a handshake again after an hour.
func TestFallbackIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New()
		handshakes := 0
		stop := serveOn(network, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "" {
				handshakes++
			}
			writeFrames(w, "{}")
		})
		defer stop()
		c := newTestClient(t, Config{Server: "http://api.example", Dial: network.Dial, WatchTransport: WatchWebSocket})
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 1}, {0, 1}, {59 * time.Minute, 1}, {time.Minute, 2}, {0, 2}} {
			<-time.After(step.after)
			s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
			must.OK(t, err)
			s.Close()
			if handshakes != step.want {
				t.Errorf("%d handshakes, want %d", handshakes, step.want)
			}
		}
		c.Close()
	})
}

func TestSocketHandshakeIsChecked(t *testing.T) {
	for name, tt := range map[string]struct{ header, wantErr string }{
		"a wrong key":          {"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n", "the answer to the WebSocket handshake is not that of a WebSocket: websocket: bad handshake"},
		"no upgrade":           {"Sec-WebSocket-Accept: KEY\r\n", "the connection cannot be written to after the WebSocket handshake: the answer is not that of a WebSocket, or"},
		"another upgrade":      {"Upgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n", "bad handshake"},
		"compression":          {"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Extensions: permessage-deflate\r\n", `has the extensions "permessage-deflate", and none was offered`},
		"another sub-protocol": {"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n", `has the sub-protocol "v4.channel.k8s.io", which was not offered`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				key := acceptKey(r.Header.Get("Sec-Websocket-Key"))
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"+strings.ReplaceAll(tt.header, "KEY", key)+"\r\n")
				_, _ = io.Copy(io.Discard, conn)
			})
			cfg.WatchTransport = WatchWebSocket
			_, err := newTestClient(t, cfg).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
			checkError(t, err, "watch "+cfg.Server+"/: ")
			checkError(t, err, tt.wantErr)
		})
	}
}

// TestSocketTokenIsReadAgain has a token replaced on disk while the client holds the
// old one.
func TestSocketTokenIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		must.OK(t, os.WriteFile(file, []byte(token), 0o600))
	}
	write("old-token")
	server := &tokenServer{accepted: "new~token"}
	open := upgrade(func(s *serverSocket) { s.send(text("{}"), closing(1000, "")) })
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(w, r)
		if server.seen[len(server.seen)-1] == server.accepted {
			open(w, r)
		}
	})
	cfg.BearerTokenFile, cfg.WatchTransport = file, WatchWebSocket
	c := newTestClient(t, cfg)
	write("new~token")
	s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
	must.OK(t, err)
	defer s.Close()
	if f, err := s.Next(); err != nil || string(f.Data) != "{}" {
		t.Errorf("got %q, %v", f.Data, err)
	}
	if seen := server.take(); seen != "old-token new~token" {
		t.Errorf("the server was shown %q", seen)
	}
}

// TestSocketErrorsHaveNoToken has a server that sends back what it was sent, in each of
// its forms.
func TestSocketErrorsHaveNoToken(t *testing.T) {
	const token = "s3cr3t-token"
	encoded := base64.RawURLEncoding.EncodeToString([]byte(token))
	for name, answer := range map[string]http.HandlerFunc{
		"a refusal": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "you sent "+token+" as "+encoded)
		},
		"a fallback": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html;x="+encoded)
		},
		"a close":  upgrade(func(s *serverSocket) { s.send(closing(1008, encoded)) }),
		"no event": upgrade(func(s *serverSocket) { s.send(text(encoded + token)) }),
		"large":    upgrade(func(s *serverSocket) { s.send(text("{\"k\":\"" + encoded + token + frameOf(5000))) }),
	} {
		var told []error
		cfg := serve(t, answer)
		cfg.BearerToken, cfg.WatchTransport, cfg.MaxFrameBytes = token, WatchWebSocket, 1000
		cfg.OnProblem = func(err error) { told = append(told, err) }
		s, err := newTestClient(t, cfg).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
		if err == nil {
			_, err = s.Next()
			s.Close()
		}
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		text := err.Error()
		if large, ok := errors.AsType[*frames.TooLargeError](err); ok {
			text += string(large.Head)
		}
		for _, err := range told {
			text += err.Error()
		}
		if strings.Contains(text, token) || strings.Contains(text, encoded) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
