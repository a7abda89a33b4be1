package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"github.com/relist-go/relist/transport"
)

const (
	readIdle    = 30 * time.Second
	pingTimeout = 15 * time.Second

	// perTransport is below the 100 streams of kube-apiserver, so that no request waits for the end
	// of a watch.
	perTransport = 95
)

// way is a way to share connections among requests.
type way struct {
	name string
	use  func(cfg *transport.Config) // nil: as the Config does by itself
}

var ways = []way{
	{"relist", nil},
	{"net/http, HTTP2Config", with(plain)},
	{"http2.ConfigureTransports", with(configured)},
	{"several of net/http", with(func(cfg transport.Config) http.RoundTripper {
		return &several{build: func() http.RoundTripper { return plain(cfg) }}
	})},
	{"several of http2.ConfigureTransports", with(func(cfg transport.Config) http.RoundTripper {
		return &several{build: func() http.RoundTripper { return configured(cfg) }}
	})},
}

func with(build func(cfg transport.Config) http.RoundTripper) func(*transport.Config) {
	return func(cfg *transport.Config) {
		cfg.RoundTripper = build(*cfg)
		cfg.TLS, cfg.Dial = transport.TLSConfig{}, nil
	}
}

func newTransport(cfg transport.Config) *http.Transport {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cfg.TLS.CAData)
	return &http.Transport{
		DialContext:         cfg.Dial,
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: cfg.TLS.ServerName, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true,
	}
}

func plain(cfg transport.Config) http.RoundTripper {
	t := newTransport(cfg)
	t.ForceAttemptHTTP2 = true
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: readIdle, PingTimeout: pingTimeout}
	return t
}

func configured(cfg transport.Config) http.RoundTripper {
	t := newTransport(cfg)
	h2, err := http2.ConfigureTransports(t) //nolint:staticcheck // deprecated for net/http's own; here the two are compared
	if err != nil {
		panic(err) // t has no protocols yet
	}
	h2.ReadIdleTimeout, h2.PingTimeout = readIdle, pingTimeout //nolint:staticcheck // as above
	return t
}

// several sends each request over the first transport that has room.
type several struct {
	build func() http.RoundTripper

	mu         sync.Mutex
	transports []*member
}

type member struct {
	http.RoundTripper
	active int // guarded by several.mu
}

func (s *several) RoundTrip(r *http.Request) (*http.Response, error) {
	m := s.take()
	free := sync.OnceFunc(func() {
		s.mu.Lock()
		m.active--
		s.mu.Unlock()
	})
	resp, err := m.RoundTrip(r)
	if err != nil {
		free()
		return nil, err
	}
	resp.Body = &freeing{resp.Body, free}
	return resp, nil
}

func (s *several) take() *member {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.transports {
		if m.active < perTransport {
			m.active++
			return m
		}
	}
	m := &member{RoundTripper: s.build(), active: 1}
	s.transports = append(s.transports, m)
	return m
}

func (s *several) CloseIdleConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.transports {
		m.RoundTripper.(*http.Transport).CloseIdleConnections()
	}
}

type freeing struct {
	io.ReadCloser
	free func()
}

func (f *freeing) Close() error {
	defer f.free()
	return f.ReadCloser.Close()
}
