package apitest

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A web page in a browser can send requests to a server on loopback: directly, with the page's
// address as the Origin, or under a host name whose owner lets it resolve to 127.0.0.1. This server
// asks for no credential, so it checks the Origin and the Host of each request.

// foreignHost returns an error if a request names a host that somebody else may control. It accepts
// an address, because an address cannot resolve to another one.
func (s *Server) foreignHost(req *http.Request) error {
	host := hostname(req.Host)
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil
	}
	if slices.ContainsFunc(s.opts.AllowedHosts, func(allowed string) bool { return strings.EqualFold(allowed, host) }) {
		return nil
	}
	return refusal("the request is for the host %q, and this server answers to addresses and to localhost only, so that no web page "+
		"reaches it under a name of its own; allow the name with apitest.Options.AllowedHosts or relist serve --allow-host %[1]s", host)
}

// foreignOrigin returns an error if a browser sent the request for a page that does not come from
// this server. Programs send an Origin with a WebSocket handshake: the address of the server.
func (s *Server) foreignOrigin(req *http.Request) error {
	origin := req.Header.Get("Origin")
	if origin == "" || s.allowsOrigin(origin) {
		return nil
	}
	u, err := url.ParseRequestURI(origin)
	isURL := err == nil && u.Host != ""
	if isWebSocket(req) && !isURL {
		return nil // the handshake refuses what is no URL, as that of kube-apiserver does
	}
	if isURL && strings.EqualFold(withPort(u.Host, u.Scheme), withPort(req.Host, u.Scheme)) {
		return nil
	}
	return refusal("the request comes from a page of %s, and this server takes none from the pages of others; "+
		"allow it with apitest.Options.AllowedOrigins or relist serve --allow-origin %[1]s", origin)
}

func (s *Server) allowsOrigin(origin string) bool {
	return slices.ContainsFunc(s.opts.AllowedOrigins, func(allowed string) bool { return strings.EqualFold(allowed, origin) })
}

// shareWith lets the browser show the answer to a page that is allowed, and reports whether the
// request only asked for that. https://fetch.spec.whatwg.org/#http-cors-protocol
func (s *Server) shareWith(w http.ResponseWriter, req *http.Request) (preflight bool) {
	origin := req.Header.Get("Origin")
	if origin == "" || !s.allowsOrigin(origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Date, Retry-After, Warning")
	if req.Method != http.MethodOptions || req.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", req.Header.Get("Access-Control-Request-Headers"))
	w.WriteHeader(http.StatusNoContent)
	return true
}

func refusal(format string, args ...any) error {
	return statusError(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(format, args...))
}

// hostname is a Host header without its port, in lower case.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// withPort completes a host with the port that its scheme stands for.
func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := "80"
	if scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}
