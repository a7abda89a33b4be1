package transport

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// roundTripper is a function that is one.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A user's own RoundTripper is given whole requests, and nothing is dialled.
func TestRoundTripper(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "ftp://proxy") // up to the RoundTripper
	var seen []string
	c := newTestClient(t, Config{
		Server: "https://api.example/prefix", BearerToken: "the-token", Impersonate: Impersonation{User: "jane"},
		RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Impersonate-User"))
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"n":1}`))}, nil
		}),
	})
	s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
	must.OK(t, err)
	defer s.Close()
	if frame, err := s.Next(); err != nil || string(frame.Data) != `{"n":1}` {
		t.Errorf("%s, %v", frame.Data, err)
	}
	c.Close()
	if got := strings.Join(seen, ", "); got != "GET https://api.example/prefix/watch Bearer the-token jane" {
		t.Errorf("the RoundTripper was given %q", got)
	}
}

func TestRoundTripperConflicts(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"TLS":      func(c *Config) { c.TLS.ServerName = "x" },
		"ProxyURL": func(c *Config) { c.ProxyURL = "http://proxy" },
		"Dial":     func(c *Config) { c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, nil } },
		"Protocol": func(c *Config) { c.Protocol = ProtocolHTTP2 },
	} {
		cfg := Config{Server: "https://api.example", RoundTripper: http.NewFileTransport(nil)}
		change(&cfg)
		_, err := NewClient(cfg)
		checkError(t, err, "RoundTripper makes the connections, so "+field+" would not be used: set one of the two")
	}
}
