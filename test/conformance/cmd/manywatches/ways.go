package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/relist-go/relist/transport"
)

// way is a way to share connections among requests.
type way struct {
	name string
	use  func(cfg *transport.Config)
}

var ways = []way{{"relist", func(*transport.Config) {}}, {"net/http", useNetHTTP}}

func useNetHTTP(cfg *transport.Config) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cfg.TLS.CAData)
	cfg.RoundTripper = &http.Transport{
		DialContext:         cfg.Dial,
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: cfg.TLS.ServerName, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	cfg.TLS, cfg.Dial = transport.TLSConfig{}, nil
}
