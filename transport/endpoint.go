package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// endpoint is where requests go.
type endpoint struct {
	url    *url.URL // http or https; its path is a prefix, without a slash at the end
	name   string   // what errors call it
	socket string   // the path of a unix socket; "" for a host
}

// parseServer checks Config.Server.
//
// No error quotes what may be a secret in the wrong place: a password, a token in the
// query, or the whole of something that is no URL.
func parseServer(server string) (endpoint, error) {
	if server == "" {
		return endpoint{}, errors.New("no Server is set: give the URL of the API server, such as https://127.0.0.1:6443")
	}
	u, err := url.Parse(server)
	switch {
	case err != nil && strings.Contains(server, "@"):
		return endpoint{}, errors.New("the Server is not a URL, and seems to carry credentials: use Username and Password")
	case err != nil:
		return endpoint{}, errors.New("the Server is not a URL: want one such as https://127.0.0.1:6443")
	case u.Scheme == "unix":
		return parseSocket(u)
	case u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, errors.New("the Server is not an http or https URL: want one such as https://127.0.0.1:6443")
	case u.Host == "":
		return endpoint{}, errors.New("the Server names no host: want a URL such as https://127.0.0.1:6443")
	case u.User != nil:
		return endpoint{}, errors.New("the Server carries credentials: use Username and Password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return endpoint{}, fmt.Errorf("the Server %s://%s has a query or a fragment", u.Scheme, u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return endpoint{url: u, name: u.String()}, nil
}

// parseSocket is parseServer for unix:///path. The server is told the host localhost,
// as curl --unix-socket tells it for http://localhost.
func parseSocket(u *url.URL) (endpoint, error) {
	switch {
	case u.User != nil:
		return endpoint{}, errors.New("the Server carries credentials: use Username and Password")
	case u.Host != "" || !path.IsAbs(u.Path) || path.Clean(u.Path) == "/":
		return endpoint{}, errors.New("the Server is a unix URL without an absolute path: want one such as unix:///run/api.sock")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return endpoint{}, fmt.Errorf("the Server unix://%s has a query or a fragment", u.Path)
	}
	return endpoint{url: &url.URL{Scheme: "http", Host: "localhost"}, name: "unix://" + u.Path + ":", socket: u.Path}, nil
}

// isLocal reports whether a server is on this machine, by what its address says.
func (e endpoint) isLocal() bool {
	if e.socket != "" {
		return true
	}
	ip, err := netip.ParseAddr(e.url.Hostname()) // with a zone, which net.ParseIP refuses
	return e.url.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// findProxy returns the proxy for all requests, nil for none. The Config names it, or
// else the environment. No error quotes the URL of the proxy, which may hold a
// password.
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

// environmentProxy does what net/http's ProxyFromEnvironment does, for the one server
// there is and with the environment as it is now. A loopback address has no proxy.
func environmentProxy(env *httpproxy.Config, server endpoint) (*url.URL, error) {
	if server.isLocal() {
		return nil, nil // also with a zone, which package httpproxy does not look for
	}
	u, err := env.ProxyFunc()(server.url)
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

// plainProxy returns the proxy as net/http is told of it: as http, if it is https,
// since dialProxyTLS does the TLS. net/http itself would use the TLS configuration of
// the server, which checks another name, trusts another authority, and shows the proxy
// a client certificate that is not meant for it.
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

// dialProxyTLS returns dial with TLS on top, for connections to an https proxy. The
// certificate of the proxy is trusted if the system trusts it, or if the cluster's
// authority has signed it.
func dialProxyTLS(dial dialFunc, u *url.URL, ca []byte, insecure bool) dialFunc {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // the cluster's may do
	}
	roots.AppendCertsFromPEM(ca)
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: u.Hostname(), NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: insecure, // only if the user asks for it
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, tlsHandshakeTimeout)
		defer cancel()
		conn := tls.Client(raw, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("TLS with the proxy %s: %w", strings.TrimSuffix(addr, ":443"), err)
		}
		return conn, nil
	}
}

func isSOCKS(u *url.URL) bool { return u.Scheme == "socks5" || u.Scheme == "socks5h" }

// proxyTimeout bounds the talk with a SOCKS5 proxy: the time that net/http allows for the answer to
// CONNECT.
const proxyTimeout = time.Minute

// dialSOCKS returns dial through a SOCKS5 proxy, which finds the address of the server. net/http
// would wait for the proxy as long as the context of the request lasts.
func dialSOCKS(dial dialFunc, u *url.URL) dialFunc {
	var auth *proxy.Auth
	if u.User != nil {
		auth = &proxy.Auth{User: u.User.Username()}
		auth.Password, _ = u.User.Password()
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
		defer cancel()
		d, err := proxy.SOCKS5("tcp", hostPort(u, "1080"), auth, viaDial{dial})
		if err != nil {
			return nil, err
		}
		return d.(proxy.ContextDialer).DialContext(ctx, network, addr)
	}
}

// viaDial is a dialFunc for package proxy.
type viaDial struct{ dial dialFunc }

func (d viaDial) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.dial(ctx, network, addr)
}

// Dial is a method of proxy.Dialer.
func (d viaDial) Dial(network, addr string) (net.Conn, error) {
	return d.dial(context.Background(), network, addr)
}

// via returns an HTTP proxy as net/http wants it.
func via(u *url.URL) func(*http.Request) (*url.URL, error) {
	if u == nil || isSOCKS(u) {
		return nil
	}
	return http.ProxyURL(plainProxy(u))
}
