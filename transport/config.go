package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Protocol is the version of HTTP that a Client speaks.
type Protocol uint8

const (
	// ProtocolAuto is HTTP/2 over TLS if the server agrees to it (ALPN), and
	// HTTP/1.1 otherwise and on plain connections.
	ProtocolAuto Protocol = iota

	// ProtocolHTTP1 is HTTP/1.1 always: a connection for each watch.
	ProtocolHTTP1

	// ProtocolHTTP2 is HTTP/2 always. Over TLS, a server that does not agree to it is an
	// error. On a plain connection, the server has to be known to speak it (RFC 9113,
	// section 3.3); a plain connection cannot go through a proxy.
	ProtocolHTTP2
)

// String returns the name used in messages.
func (p Protocol) String() string { return nth(p, "auto", "HTTP/1.1", "HTTP/2") }

// nth returns the name of a value, for messages.
func nth[N ~uint8](n N, names ...string) string {
	if int(n) < len(names) {
		return names[n]
	}
	return "unknown"
}

// Config says where an API server is and how to speak to it. Only Server is
// required. In every number, zero is the default and negative is off.
type Config struct {
	// Server is the base URL, http or https. It may carry a path prefix, as behind
	// a gateway. It must not carry credentials, a query or a fragment.
	//
	// unix:///run/api.sock is a unix socket, behind which a server speaks HTTP
	// without TLS, as `kubectl proxy --unix-socket` does. For TLS on a socket, or a
	// path prefix, give an https Server and a Dial that connects to the socket.
	Server string

	// TLS is used when Server is https.
	TLS TLSConfig

	// BearerToken is sent as "Authorization: Bearer". BearerTokenFile names a file
	// that holds it: the file is read again when a request is sent 10 s or more after the
	// last time, and immediately after a 401, so that a rotated token is picked up. If
	// both are set, the file wins; BearerToken is used until the file can be read.
	BearerToken     string
	BearerTokenFile string

	// Username and Password are sent as basic authentication. They cannot be
	// combined with a bearer token.
	Username string
	Password string

	// Exec is a program that prints the credential, such as one of a cloud provider.
	// It cannot be combined with another credential. If nil, there is none.
	Exec *ExecConfig

	// AllowInsecureCredentials lets credentials go out without TLS, to a Server that is
	// http and not on this machine, or through a proxy. Everybody on the way can read
	// them then. If false, such a Config is an error: [ErrCleartext]. A host called
	// localhost, an address of the loopback network and a unix socket are this machine.
	// Dial and RoundTripper change nothing about this rule, because nothing is known of
	// what they do.
	AllowInsecureCredentials bool

	// Impersonate is the user as whom requests are made. If zero, that is the user to
	// whom the credential belongs.
	Impersonate Impersonation

	// Namespace is the one that the kubeconfig's context or the pod names. The Client
	// does not use it; it is here for the caller.
	Namespace string

	// ProxyURL is the proxy for every connection: http, https, socks5 or socks5h. It
	// may carry a user name and a password, which no error quotes. The certificate of
	// an https proxy is checked against the system's authorities and those of TLS; it
	// is shown no client certificate.
	// If empty, the environment decides, as it is when the Client is made
	// (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), unless Dial is set or Server is a socket.
	ProxyURL string

	// UserAgent is sent with every request.
	// If empty, it is "relist/<version> (<os>/<arch>)".
	UserAgent string

	// Protocol is the version of HTTP.
	Protocol Protocol

	// WatchTransport is how watches travel: in the body of a response, or as the
	// messages of a WebSocket. If nil, [WatchHTTP].
	WatchTransport WatchTransport

	// ReadIdleTimeout is how long an HTTP/2 connection or a WebSocket may be idle
	// before a ping is sent. PingTimeout is how long the answer may take before the
	// connection fails, with everything on it. So a half-open connection is found after
	// the sum of both. On a WebSocket, pings are sent while a reader waits. If zero, 30
	// s and 15 s. If either is negative, no pings are sent.
	ReadIdleTimeout time.Duration
	PingTimeout     time.Duration

	// MaxConcurrentGets bounds how many requests of [Client.Get] are in progress at once,
	// from their start until their body is closed; the others wait. It spreads the
	// lists of a program with many reflectors after an outage, and bounds the memory
	// that they take. If zero or negative, there is no bound.
	MaxConcurrentGets int

	// MaxFrameBytes is the size of the largest frame of a watch that is accepted;
	// a larger one is a [frames.TooLargeError]. If zero, 64 MiB. If negative, unlimited.
	MaxFrameBytes int

	// Gzip says whether to ask for compressed answers. MaxFrameBytes counts decompressed bytes.
	//
	// If nil, in everything but watches without initial events: there is little to save there, and
	// a proxy that compresses may hold an event back until others follow. But if the server is on
	// loopback or behind a unix socket, so that no network is in between, nothing is compressed;
	// likewise if Dial or RoundTripper is set.
	//
	// If true, in all watches, too. kube-apiserver compresses lists larger than 128 KiB and, since
	// 1.37, watches with initial events, and no others. A watch that comes compressed delivers each
	// event as soon as the server flushes it, or ends a gzip file behind it.
	Gzip *bool

	// Dial makes connections, to a proxy too if ProxyURL is set; TLS is done on top
	// of it. If nil, a net.Dialer does. With net.Pipe it is a network for tests.
	// It may be called by several goroutines at once.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// RoundTripper sends the requests, so that no connections are made here. It is given
	// the credentials, in the headers. TLS, ProxyURL, Dial and Protocol cannot be set
	// beside it. Pings, client certificates of Exec, the proxies
	// of the environment and a Server's socket are its own business. Close leaves it
	// alone. Nothing is known of its connections, so nobody learns from one that is gone that the
	// server may have been started again.
	RoundTripper http.RoundTripper

	// OnProblem is told of problems that make no request fail: a file of certificates or of the
	// token can no longer be used, and what it held before stays in use; or a watch could not be
	// opened over a WebSocket. A problem that stays the same is told once. The goroutine of some
	// request calls OnProblem, perhaps several at once, so it must be quick. If nil, nobody is
	// told.
	OnProblem func(error)
}

// Defaults of the numbers in Config.
const (
	defaultReadIdleTimeout = 30 * time.Second
	defaultPingTimeout     = 15 * time.Second
	defaultMaxFrameBytes   = 64 << 20
)

const (
	dialTimeout         = 30 * time.Second // for making a connection
	tlsHandshakeTimeout = 10 * time.Second
	idleConnTimeout     = 90 * time.Second // for an unused connection
	maxErrorBytes       = 1 << 20          // of an error's body
)

// ErrNotInCluster is the error of [InCluster] outside of a pod.
var ErrNotInCluster = errors.New("not in a cluster: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set")

// serviceAccountDir is where the kubelet puts a pod's credentials:
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster returns the Config of a pod, from its environment and its service
// account. The token stays in its file, which is rotated.
func InCluster() (Config, error) {
	return inCluster(serviceAccountDir, os.Getenv)
}

func inCluster(dir string, getenv func(string) string) (Config, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return Config{}, ErrNotInCluster
	}
	cfg := Config{
		Server:          "https://" + net.JoinHostPort(host, port),
		BearerTokenFile: filepath.Join(dir, "token"),
		TLS:             TLSConfig{CAFile: filepath.Join(dir, "ca.crt")},
	}
	for _, path := range []string{cfg.BearerTokenFile, cfg.TLS.CAFile} {
		if _, err := os.Stat(path); err != nil {
			return Config{}, fmt.Errorf("in-cluster config: %w (is automountServiceAccountToken off?)", err)
		}
	}
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("in-cluster config: %w", err)
	}
	cfg.Namespace = strings.TrimSpace(string(namespace))
	return cfg, nil
}
