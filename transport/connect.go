package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// connector makes connections by the rules of a Config, and gives them up when the
// identity that they were made with has been replaced.
type connector struct {
	rules

	mu      sync.Mutex
	current *generation
}

// rules say how connections are made.
type rules struct {
	cfg    Config
	server endpoint
	proxy  *url.URL // nil: none
	dial   dialFunc
	secure bool // connections are made here, with TLS
	files  *identitySource
	plugin *execPlugin // nil: none that may give a client certificate
}

func newConnector(cfg Config, server endpoint, problems *problems, plugin *execPlugin) (*connector, error) {
	if cfg.Protocol > ProtocolHTTP2 {
		return nil, fmt.Errorf("Protocol %d is unknown: want ProtocolAuto, ProtocolHTTP1 or ProtocolHTTP2", cfg.Protocol)
	}
	if err := checkRoundTripper(cfg); err != nil {
		return nil, err
	}
	files, err := newIdentitySource(cfg.TLS, problems)
	if err != nil {
		return nil, err
	}
	proxy, err := findProxy(cfg, server)
	if err != nil {
		return nil, err
	}
	if cfg.Dial != nil && server.socket != "" {
		return nil, errors.New("a Server that is a unix socket cannot be used with Dial: dial it yourself, with an http Server, or do without Dial")
	}
	if cfg.Protocol == ProtocolHTTP2 && server.url.Scheme == "http" && cfg.ProxyURL != "" {
		return nil, errors.New("ProxyURL cannot be used with HTTP/2 on a plain connection: use https, or ProtocolHTTP1")
	}
	if cfg.Protocol == ProtocolHTTP2 && !hasHTTP2() {
		return nil, errWithoutHTTP2
	}
	return rules{
		cfg:    cfg,
		server: server,
		proxy:  proxy,
		dial:   dialer(cfg, server.socket),
		secure: server.url.Scheme == "https" && cfg.RoundTripper == nil,
		files:  files,
		plugin: plugin,
	}.connector(), nil
}

func (r rules) connector() *connector {
	c := &connector{rules: r}
	c.current = c.generation(c.identity())
	return c
}

// onlyHTTP1 returns a connector whose connections speak HTTP/1.1, and offer nothing else in
// ALPN. In all else it is like c.
func (c *connector) onlyHTTP1() *connector {
	r := c.rules
	if r.cfg.RoundTripper == nil {
		r.cfg.Protocol = ProtocolHTTP1
	}
	return r.connector()
}

// checkRoundTripper refuses the fields that have no effect beside a RoundTripper of the
// user's. The user might not notice that they have none.
func checkRoundTripper(cfg Config) error {
	if cfg.RoundTripper == nil {
		return nil
	}
	t := cfg.TLS
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"TLS", t.CAFile+t.CertFile+t.KeyFile+t.ServerName != "" || len(t.CAData)+len(t.CertData)+len(t.KeyData) > 0 || t.Insecure},
		{"ProxyURL", cfg.ProxyURL != ""},
		{"Dial", cfg.Dial != nil},
		{"Protocol", cfg.Protocol != ProtocolAuto},
	} {
		if field.set {
			return fmt.Errorf("RoundTripper makes the connections, so %s would not be used: set one of the two", field.name)
		}
	}
	return nil
}

// use returns the connections for one exchange, and what to call when the exchange is
// over.
func (c *connector) use() (g *generation, end func()) {
	if c.secure {
		c.files.refresh()
	}
	for {
		c.mu.Lock()
		g, id := c.current, c.identity()
		if id == g.identity {
			end := g.conns.begin()
			c.mu.Unlock()
			return g, end
		}
		c.mu.Unlock()
		next := c.generation(id)
		c.mu.Lock()
		if c.current == g {
			c.current, next = next, g
		}
		c.mu.Unlock()
		next.retire() // the old one, or one that came second
	}
}

// renew reads the files of the identity now. It reports whether connections that are
// made from now on differ from those of g.
func (c *connector) renew(g *generation) (changed bool, err error) {
	if c.secure {
		err = c.files.renew()
	}
	return c.identity() != g.identity, err
}

// identity is what connections are to be made with from now on.
func (c *connector) identity() identity {
	if !c.secure {
		return identity{}
	}
	id := c.files.get()
	if c.plugin != nil {
		if cert := c.plugin.certificate(); cert != nil {
			id.cert = cert
		}
	}
	return id
}

// close closes the connections that nothing uses, and each of the others when nothing
// uses it any more. The connector can be used again.
func (c *connector) close() {
	c.mu.Lock()
	g := c.current
	c.mu.Unlock()
	g.close()
}

// generation prepares connections with an identity; none is made yet.
func (c *connector) generation(id identity) *generation {
	g := &generation{identity: id, conns: new(conns), proxy: via(c.proxy)}
	dial := c.dial
	switch {
	case c.proxy == nil:
	case c.proxy.Scheme == "https":
		dial = dialProxyTLS(dial, c.proxy, c.files.authorities(), c.cfg.TLS.Insecure)
	case isSOCKS(c.proxy):
		dial = dialSOCKS(dial, c.proxy)
	}
	g.dial = g.conns.track(dial)
	switch {
	case c.cfg.RoundTripper != nil:
		g.RoundTripper, g.closeIdle, g.dial = c.cfg.RoundTripper, func() {}, nil
	case c.cfg.Protocol == ProtocolHTTP2 && c.server.url.Scheme == "http":
		plainHTTP2(c.cfg, g)
	default:
		if c.secure {
			g.tls = c.cfg.TLS.config(id)
		}
		c.overHTTP(g)
	}
	return g
}

// overHTTP lets a generation speak HTTP/1.1, and HTTP/2 where the server agrees to it.
func (c *connector) overHTTP(g *generation) {
	h1 := &http.Transport{
		Proxy:                  g.proxy,
		DialContext:            g.dial,
		TLSClientConfig:        new(tls.Config),
		TLSHandshakeTimeout:    tlsHandshakeTimeout,
		IdleConnTimeout:        idleConnTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         32 << 10, // reading the events of Pods takes half as long as with the 4 KB of net/http
		// After a list each of many types, each connection becomes the one of a watch. A connection
		// that net/http closed meanwhile would also look like one that the server has closed, see
		// conns.
		MaxIdleConnsPerHost: 1000,
		DisableCompression:  true,
	}
	h1.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, req *http.Request, resp *http.Response) error {
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		known := secrets{known: proxySecrets(c.proxy)}
		return &ProxyError{
			Proxy: c.proxy.Scheme + "://" + c.proxy.Host, Target: req.Host,
			StatusCode: resp.StatusCode, Status: string(known.quote([]byte(resp.Status), 100)),
		}
	}
	if g.tls != nil {
		h1.TLSClientConfig = g.tls.Clone()
	}
	if c.cfg.Protocol == ProtocolHTTP1 || !c.secure || !hasHTTP2() {
		// An empty map, not nil, is how net/http is told to leave HTTP/2 alone.
		h1.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		h1.TLSClientConfig.NextProtos = []string{"http/1.1"}
		g.RoundTripper, g.closeIdle = h1, h1.CloseIdleConnections
		return
	}
	if c.cfg.Protocol == ProtocolHTTP2 {
		h1.TLSClientConfig.NextProtos = []string{"h2"}
	}
	withHTTP2(c.cfg, h1, g)
}

// maxHeaderBytes bounds the header of a response. An API server sends a few hundred
// bytes, and net/http needs many times the size of a header to hold it.
const maxHeaderBytes = 1 << 20

// dialer returns what makes connections, within dialTimeout.
func dialer(cfg Config, socket string) dialFunc {
	switch {
	case socket != "":
		d := &net.Dialer{Timeout: dialTimeout}
		return func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		}
	case cfg.Dial == nil:
		return (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return cfg.Dial(ctx, network, addr)
	}
}
