package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// findProxy returns the proxy that every request goes through, nil for none, by the
// Config or else by the environment. Its errors do not quote the proxy's URL, which
// may hold a password.
func findProxy(cfg Config, server endpoint) (*url.URL, error) {
	switch {
	case cfg.ProxyURL != "" && server.socket != "":
		return nil, errors.New("ProxyURL cannot be used with a Server that is a unix socket")
	case cfg.ProxyURL != "":
		return parseProxy("ProxyURL", cfg.ProxyURL)
	case cfg.Dial != nil, cfg.RoundTripper != nil, server.socket != "":
		return nil, nil
	}
	return environmentProxy(httpproxy.FromEnvironment(), server)
}

// environmentProxy is net/http's ProxyFromEnvironment for the one server there is, by
// the environment as it is now. A loopback address has no proxy there.
func environmentProxy(env *httpproxy.Config, server endpoint) (*url.URL, error) {
	target, err := url.Parse(server.base)
	if err != nil {
		return nil, err // unreachable: it is made of a URL
	}
	u, err := env.ProxyFunc()(target)
	if err != nil {
		return nil, errors.New("the proxy named in the environment (HTTPS_PROXY, HTTP_PROXY) is not a valid URL")
	}
	if u == nil {
		return nil, nil
	}
	return parseProxy("the proxy named in the environment (HTTPS_PROXY, HTTP_PROXY)", u.String())
}

func parseProxy(from, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s is not a valid URL with a host, such as http://proxy.example:3128", from)
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return u, nil
	}
	return nil, fmt.Errorf("%s has the scheme %q: want http, https, socks5 or socks5h", from, u.Scheme)
}

// proxySecrets returns what a proxy might send back of the credentials in its URL. A name
// without a password is a secret too: some proxies have tokens for names.
func proxySecrets(u *url.URL) [][]byte {
	if u == nil || u.User == nil {
		return nil
	}
	name := u.User.Username()
	password, ok := u.User.Password()
	secrets := secretsOf(basicAuth(name, password))
	if !ok {
		secrets = append(secrets, formsOf(name)...)
	}
	return secrets
}

// plainProxy returns the proxy as it is to be spoken to inside a connection. That is
// http for an https one: net/http would make the connection to it with the TLS
// configuration of the server, which is shown the wrong name, trusts another
// authority and offers a client certificate that the proxy has no business to see.
func plainProxy(u *url.URL) *url.URL {
	if u.Scheme != "https" {
		return u
	}
	plain := *u
	plain.Scheme, plain.Host = "http", hostPort(u, "443")
	return &plain
}

func hostPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dialProxyTLS returns dial with TLS on its connections, which all go to an https
// proxy. Its certificate is trusted if the system trusts it, or the cluster's
// authority has signed it.
func dialProxyTLS(dial dialFunc, u *url.URL, ca []byte, insecure bool, timeout time.Duration) dialFunc {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // the cluster's may do
	}
	roots.AppendCertsFromPEM(ca)
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: u.Hostname(), NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: insecure, //nolint:gosec // where the user asks for it
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		conn := tls.Client(raw, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("TLS with the proxy %s: %w", strings.TrimSuffix(addr, ":443"), err)
		}
		return conn, nil
	}
}

// via returns what net/http wants to know of a proxy.
func via(u *url.URL) func(*http.Request) (*url.URL, error) {
	if u == nil {
		return nil
	}
	return http.ProxyURL(plainProxy(u))
}
