package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// connector makes connections by the rules of a Config.
type connector struct {
	http.RoundTripper
	closeIdle func()
	conns     *conns
}

func newConnector(cfg Config, server *url.URL) (*connector, error) {
	if cfg.Protocol > ProtocolHTTP2 {
		return nil, fmt.Errorf("Protocol %d is unknown", cfg.Protocol)
	}
	tlsConfig, err := cfg.TLS.build()
	if err != nil {
		return nil, err
	}
	proxy, err := proxyFunc(cfg)
	if err != nil {
		return nil, err
	}
	open := new(conns)
	dial := dialFunc(cfg.Dial)
	if dial == nil {
		dial = (&net.Dialer{Timeout: orDefault(cfg.DialTimeout, defaultDialTimeout)}).DialContext
	} else if timeout := orDefault(cfg.DialTimeout, defaultDialTimeout); timeout > 0 {
		dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return cfg.Dial(ctx, network, addr)
		}
	}
	dial = open.track(dial)

	if cfg.Protocol == ProtocolHTTP2 && server.Scheme == "http" {
		if cfg.ProxyURL != "" {
			return nil, errors.New("ProxyURL cannot be used with HTTP/2 on a plain connection: use https, or ProtocolHTTP1")
		}
		return plainHTTP2(cfg, dial, open), nil
	}

	h1 := &http.Transport{
		Proxy:               proxy,
		DialContext:         dial,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: orDefault(cfg.TLSHandshakeTimeout, defaultTLSHandshakeTimeout),
		IdleConnTimeout:     orDefault(cfg.IdleConnTimeout, defaultIdleConnTimeout),
		MaxIdleConnsPerHost: 32, // a list each of many types, then all of them again
		DisableCompression:  true,
	}
	if cfg.Protocol == ProtocolHTTP1 {
		// An empty map, not nil, is how net/http is told to leave HTTP/2 alone.
		h1.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		tlsConfig.NextProtos = []string{"http/1.1"}
		return &connector{RoundTripper: h1, closeIdle: h1.CloseIdleConnections, conns: open}, nil
	}
	if cfg.Protocol == ProtocolHTTP2 {
		tlsConfig.NextProtos = []string{"h2"}
	}
	return withHTTP2(cfg, h1, open)
}

// proxyFunc says which proxy a request goes through. Its errors do not quote the
// proxy's URL, which may hold a password.
func proxyFunc(cfg Config) (func(*http.Request) (*url.URL, error), error) {
	if cfg.ProxyURL == "" {
		if cfg.Dial != nil {
			return nil, nil
		}
		return func(r *http.Request) (*url.URL, error) {
			u, err := http.ProxyFromEnvironment(r)
			if err != nil {
				return nil, errors.New("the proxy named in the environment (HTTPS_PROXY, HTTP_PROXY) is not a valid URL")
			}
			return u, nil
		}, nil
	}
	u, err := url.Parse(cfg.ProxyURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("ProxyURL is not a valid URL with a host, such as http://proxy.example:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return http.ProxyURL(u), nil
	}
	return nil, fmt.Errorf("ProxyURL has the scheme %q: want http, https, socks5 or socks5h", u.Scheme)
}
