package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/relist-go/relist/internal/must"
)

// proxyServer is a small real proxy on loopback. Every name leads to one place.
type proxyServer struct {
	addr    string
	target  string // where all connections go
	refuses string // if set, how it answers instead

	mu   sync.Mutex
	seen []string
}

func (p *proxyServer) saw(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, fmt.Sprintf(format, args...))
}

// take returns what the proxy was asked since the last call.
func (p *proxyServer) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := strings.Join(p.seen, ", ")
	p.seen = nil
	return seen
}

// newProxyServer serves connections until the test ends; over TLS if there is a
// certificate.
func newProxyServer(t *testing.T, target string, serve func(p *proxyServer, conn net.Conn) error, certs ...tls.Certificate) *proxyServer {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.OK(t, err)
	p := &proxyServer{addr: ln.Addr().String(), target: target}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if len(certs) > 0 {
				conn = tls.Server(conn, &tls.Config{Certificates: certs, MinVersion: tls.VersionTLS12})
			}
			all.Go(func() {
				defer conn.Close()
				if err := serve(p, conn); err != nil {
					p.saw("%v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	return p
}

// connect is what an HTTP proxy does (RFC 9110, section 9.3.6).
func connect(p *proxyServer, conn net.Conn) error {
	in := bufio.NewReader(conn)
	r, err := http.ReadRequest(in)
	if err != nil {
		return fmt.Errorf("no request: %w", err)
	}
	p.saw("%s %s %s", r.Method, r.Host, r.Header.Get("Proxy-Authorization"))
	if p.refuses != "" {
		_, err := io.WriteString(conn, strings.ReplaceAll(p.refuses, "$AUTH", r.Header.Get("Proxy-Authorization")))
		return err
	}
	if auth := r.Header.Get("Authorization"); auth != "" {
		p.saw("the server's credential %s", auth)
	}
	if r.Method != http.MethodConnect {
		// A plain request is passed on as it is.
		target, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.target)
		if err != nil {
			return err
		}
		r.Header.Del("Proxy-Authorization")
		r.Header.Set("Connection", "close")
		if err := r.Write(target); err != nil {
			return err
		}
		_, err = io.Copy(conn, target)
		return err
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return err
	}
	return p.tunnel(in, conn)
}

// socks5 is RFC 1928, with the names and passwords of RFC 1929.
func socks5(p *proxyServer, conn net.Conn) error {
	in := bufio.NewReader(conn)
	text := func() (string, error) {
		n, err := in.ReadByte()
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(in, b)
		}
		return string(b), err
	}
	if v, err := in.ReadByte(); err != nil || v != 5 {
		return fmt.Errorf("version %d: %w", v, err)
	}
	methods, err := text()
	if err != nil {
		return err
	}
	login := ""
	if strings.Contains(methods, "\x02") {
		_, _ = conn.Write([]byte{5, 2})
		if _, err := in.ReadByte(); err != nil {
			return err
		}
		user, err := text()
		if err != nil {
			return err
		}
		password, err := text()
		if err != nil {
			return err
		}
		login = user + ":" + password
		if p.refuses != "" {
			_, err := conn.Write([]byte{1, 1})
			return err
		}
		_, _ = conn.Write([]byte{1, 0})
	} else {
		_, _ = conn.Write([]byte{5, 0})
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	host := ""
	switch head[3] {
	case 1:
		ip := make(net.IP, 4)
		_, err = io.ReadFull(in, ip)
		host = ip.String()
	case 3:
		host, err = text()
	}
	if err != nil {
		return err
	}
	var port uint16
	if err := binary.Read(in, binary.BigEndian, &port); err != nil {
		return err
	}
	p.saw("CONNECT %s:%d %s", host, port, login)
	if _, err := conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	return p.tunnel(in, conn)
}

func (p *proxyServer) tunnel(in io.Reader, conn net.Conn) error {
	target, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		return err
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(target, in); target.Close() })
	both.Go(func() { _, _ = io.Copy(conn, target); conn.Close() })
	both.Wait()
	return nil
}

// TestProxies reaches a server that only the proxy knows, by each kind of proxy. Each of the two is
// shown its own credential, and not that of the other.
func TestProxies(t *testing.T) {
	ca := newCert(t, nil, "ca.example")
	proxyCert := newCert(t, &ca, "127.0.0.1")
	for _, tt := range []struct {
		name, scheme string
		serve        func(*proxyServer, net.Conn) error
		user, want   string
		certs        []tls.Certificate
	}{
		{"http", "http", connect, "", "CONNECT api.example:443 ", nil},
		{"http with a password", "http", connect, "user:pass-word@", "CONNECT api.example:443 Basic dXNlcjpwYXNzLXdvcmQ=", nil},
		{"https", "https", connect, "", "CONNECT api.example:443 ", []tls.Certificate{proxyCert}},
		{"https with a password", "https", connect, "user:pass-word@", "CONNECT api.example:443 Basic dXNlcjpwYXNzLXdvcmQ=", []tls.Certificate{proxyCert}},
		{"socks5", "socks5", socks5, "", "CONNECT api.example:443 ", nil},
		{"socks5 with a password", "socks5", socks5, "user:pass-word@", "CONNECT api.example:443 user:pass-word", nil},
		{"socks5h", "socks5h", socks5, "", "CONNECT api.example:443 ", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, protocol := range []Protocol{ProtocolHTTP1, ProtocolHTTP2} {
				cfg := wire{tls: true, serverH2: true}.serve(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Authorization") != "Bearer s3cr3t-token" || r.Header.Get("Proxy-Authorization") != "" {
						t.Errorf("%v: the server was shown %v", protocol, r.Header)
					}
					if r.URL.Path == "/watch" {
						writeFrames(w, `{}`)
					}
				})
				cfg.BearerToken = "s3cr3t-token"
				proxy := newProxyServer(t, strings.TrimPrefix(cfg.Server, "https://"), tt.serve, tt.certs...)
				// The name is one that the proxy's certificate lacks, and the CA both have.
				cfg.Server, cfg.TLS.ServerName = "https://api.example", "example.com"
				cfg.TLS.CAData = append(cfg.TLS.CAData, pemOf(ca.Certificate[0])...)
				cfg.Protocol, cfg.ProxyURL = protocol, tt.scheme+"://"+tt.user+proxy.addr
				c := newTestClient(t, cfg)
				if err := getAll(t.Context(), c, "/get"); err != nil {
					t.Fatalf("%v: %v", protocol, err)
				}
				s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
				if err != nil {
					t.Fatalf("%v: %v", protocol, err)
				}
				if _, err := s.Next(); err != nil {
					t.Errorf("%v: %v", protocol, err)
				}
				s.Close()
				c.Close()
				if seen := proxy.take(); seen != tt.want {
					t.Errorf("%v: the proxy was asked for %q, want %q", protocol, seen, tt.want)
				}
			}
		})
	}
}

// TestProxyOfPlainRequests passes requests on, for there is nothing to tunnel.
func TestProxyOfPlainRequests(t *testing.T) {
	ca := newCert(t, nil, "ca.example")
	proxyCert := newCert(t, &ca, "127.0.0.1")
	for scheme, certs := range map[string][]tls.Certificate{"http": nil, "https": {proxyCert}} {
		cfg := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
		proxy := newProxyServer(t, strings.TrimPrefix(cfg.Server, "http://"), connect, certs...)
		cfg.Server, cfg.ProxyURL = "http://api.example:8080", scheme+"://"+proxy.addr
		cfg.TLS.CAData = pemOf(ca.Certificate[0])
		if err := getAll(t.Context(), newTestClient(t, cfg), "/get"); err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		if seen := proxy.take(); seen != "GET api.example:8080 " {
			t.Errorf("%s: the proxy was asked for %q", scheme, seen)
		}
	}
}

// TestProxyErrorsTellNoPassword has proxies that refuse, and one that sends back what
// it was sent.
func TestProxyErrorsTellNoPassword(t *testing.T) {
	for _, tt := range []struct {
		name, scheme string
		serve        func(*proxyServer, net.Conn) error
		refuses      string
		wantErr      string
	}{
		{"http", "http", connect, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "does not connect to api.example:443: 407 Proxy Authentication Required (set a name and a password in the URL of the proxy, or other ones)"},
		{"https", "http", connect, "HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy http://127.0.0.1:"},
		{"http, with an echo", "http", connect, "HTTP/1.1 407 not $AUTH or pass-word\r\n\r\n", "not Basic REDACTED or REDACTED"},
		{"http, with an echo that is cut", "http", connect, "HTTP/1.1 403 " + strings.Repeat("x", 88) + " pass-word\r\n\r\n", "403 " + strings.Repeat("x", 88) + " REDACT"},
		{"socks5", "socks5", socks5, "yes", "username/password authentication failed"},
		{"https that is http", "https", connect, "no", "TLS with the proxy 127.0.0.1:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy := newProxyServer(t, "127.0.0.1:1", tt.serve)
			proxy.refuses = tt.refuses
			c := newTestClient(t, Config{Server: "https://api.example", ProxyURL: tt.scheme + "://user:pass-word@" + proxy.addr})
			_, err := c.Get(t.Context(), Request{Path: "/"})
			checkError(t, err, tt.wantErr)
			var refusal *ProxyError
			_ = errors.As(err, &refusal) // a SOCKS5 proxy has none
			for _, secret := range []string{"pass-w", "dXNlcjpwYXNzLXdvcmQ="} {
				if strings.Contains(fmt.Sprint(err, refusal), secret) {
					t.Errorf("the error tells a secret: %v, %v", err, refusal)
				}
			}
		})
	}
}

// A proxy that accepts a connection and says nothing holds a request up for a time that does not
// depend on the caller.
func TestProxyThatSaysNothing(t *testing.T) {
	for scheme, bound := range map[string]time.Duration{"http": time.Minute, "https": 10 * time.Second, "socks5": time.Minute, "socks5h": time.Minute} {
		t.Run(scheme, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := func(context.Context, string, string) (net.Conn, error) {
					client, proxy := net.Pipe()
					go func() { _, _ = io.Copy(io.Discard, proxy) }()
					return client, nil
				}
				c := newTestClient(t, Config{Server: "https://api.example", ProxyURL: scheme + "://proxy.example", Dial: dial})
				begun := time.Now()
				_, err := c.Get(t.Context(), Request{Path: "/"})
				if took := time.Since(begun); err == nil || took != bound {
					t.Errorf("the request fails after %v, want %v: %v", took, bound, err)
				}
			})
		})
	}
}

// TestProxyOfTheEnvironment is decided when the Client is made.
func TestProxyOfTheEnvironment(t *testing.T) {
	cfg := wire{tls: true, serverH2: true}.serve(t, func(http.ResponseWriter, *http.Request) {})
	proxy := newProxyServer(t, strings.TrimPrefix(cfg.Server, "https://"), connect)
	cfg.Server, cfg.TLS.ServerName = "https://api.example", "example.com"
	t.Setenv("HTTPS_PROXY", "http://user:pass-word@"+proxy.addr)
	t.Setenv("https_proxy", "")
	t.Setenv("NO_PROXY", "other.example,10.0.0.0/8")
	t.Setenv("no_proxy", "")
	c := newTestClient(t, cfg)
	t.Setenv("HTTPS_PROXY", "")
	must.OK(t, getAll(t.Context(), c, "/get"))
	if seen := proxy.take(); !strings.HasPrefix(seen, "CONNECT api.example:443 Basic ") {
		t.Errorf("the proxy was asked for %q", seen)
	}
}

func TestChoiceOfTheEnvironment(t *testing.T) {
	env := httpproxy.Config{HTTPSProxy: "proxy.example:3128", HTTPProxy: "socks5://u:pass-word@socks.example", NoProxy: "no.example,10.0.0.0/8"}
	for server, want := range map[string]string{
		"https://api.example":       "http://proxy.example:3128",
		"http://api.example":        "socks5://u:pass-word@socks.example",
		"https://api.no.example":    "",
		"https://10.1.2.3:6443":     "",
		"https://127.0.0.1:6443":    "",
		"http://[::1%25lo]:8080":    "",
		"unix:///run/api.sock":      "",
		"https://[fd00::1]:6443/px": "http://proxy.example:3128",
	} {
		at, err := parseServer(server)
		must.OK(t, err)
		u, err := environmentProxy(&env, at)
		got := ""
		if u != nil {
			got = u.String()
		}
		if err != nil || got != want {
			t.Errorf("%s: proxy %q, %v, want %q", server, got, err, want)
		}
	}
	at, err := parseServer("https://api.example")
	must.OK(t, err)
	_, err = environmentProxy(&httpproxy.Config{HTTPSProxy: "ftp://u:pass-word@proxy"}, at)
	checkError(t, err, `the proxy named in the environment (HTTPS_PROXY, HTTP_PROXY) has the scheme "ftp"`)
	if strings.Contains(err.Error(), "pass-word") {
		t.Errorf("the error tells a secret: %v", err)
	}
}

// TestNameForAProxyIsASecret has a proxy that takes a token for a name, without a password,
// and sends back what it was given. With a password, a name is not a secret.
func TestNameForAProxyIsASecret(t *testing.T) {
	for _, tt := range []struct{ user, want string }{
		{"name-that-is-a-token", "no Basic REDACTED for REDACTED"},
		{"name:pass-word", "no Basic REDACTED for name"},
	} {
		name, _, _ := strings.Cut(tt.user, ":")
		p := newProxyServer(t, "", connect)
		p.refuses = "HTTP/1.1 407 no $AUTH for " + name + "\r\n\r\n"
		c := newTestClient(t, Config{Server: "https://api.example", ProxyURL: "http://" + tt.user + "@" + p.addr})
		checkError(t, getAll(t.Context(), c, "/"), tt.want)
	}
}
