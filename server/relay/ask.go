package relay

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/transport"
)

// asked are the parameters of a read that the relay sends on. Others could make of it what nobody
// has judged.
var asked = []string{
	"labelSelector", "fieldSelector", "shardSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "includeObject", "pretty",
	"timeoutSeconds",
}

// ask answers a read of a resource with what the upstream says to the relay's own user. The
// reader's right was checked.
func (r *Relay) ask(w http.ResponseWriter, g *guard, t target, query url.Values) error {
	send := url.Values{}
	for _, name := range asked {
		if query.Has(name) {
			send.Set(name, query.Get(name))
		}
	}
	if g.a.Verb == "watch" {
		send.Set("watch", "true")
		for _, name := range []string{"allowWatchBookmarks", "sendInitialEvents"} {
			if query.Has(name) {
				send.Set(name, query.Get(name))
			}
		}
	}
	forward := func(w http.ResponseWriter, req *http.Request) {
		r.forward(w, req, g.u.path(t), send.Encode(), http.Header{})
	}
	if g.a.Verb == "watch" {
		if upgrades(g.req) {
			return errUpgrade
		}
		r.askWatch(w, g, forward)
		return nil
	}
	out := flushed{newBody(w, answerTimeout)}
	defer out.close()
	forward(out, g.req)
	return nil
}

func (u *upstream) path(t target) string {
	segments := []string{"api", u.Version}
	if u.Group != "" {
		segments = []string{"apis", u.Group, u.Version}
	}
	if t.namespace != "" {
		segments = append(segments, "namespaces", t.namespace)
	}
	segments = append(segments, u.Resource.Resource)
	if t.name != "" {
		segments = append(segments, t.name)
	}
	return transport.EscapePath(segments...)
}

// discover answers a request for what the upstream serves.
func (r *Relay) discover(w http.ResponseWriter, req *http.Request, user *User, parts []string) error {
	path := "/" + strings.Join(parts, "/")
	if err := r.allow(req.Context(), user, Attributes{Verb: "get", Path: path}); err != nil {
		return err
	}
	out := flushed{newBody(w, answerTimeout)}
	defer out.close()
	r.forward(out, req, transport.EscapePath(parts...), req.URL.RawQuery, http.Header{})
	return nil
}

// passOn sends a request to the upstream as the user who sent it. The upstream judges it.
func (r *Relay) passOn(w http.ResponseWriter, req *http.Request, user *User) error {
	as := http.Header{"Impersonate-User": {user.Name}}
	if user.UID != "" {
		as.Set("Impersonate-Uid", user.UID)
	}
	as["Impersonate-Group"] = user.Groups
	for key, values := range user.Extra { // each is a header: the order does not matter
		as[extraHeader(key)] = values
	}
	for name, values := range as { // each is judged by itself: the order does not matter
		if slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) != v }) {
			// A header loses the spaces around it, and would make another user of this one.
			return apierrors.NewForbidden(noResource, "", fmt.Errorf("the relay cannot send %s: %q", name, values))
		}
	}
	out := flushed{newBody(w, 0)} // it may be a log that is followed
	defer out.close()
	r.forward(out, req, req.URL.EscapedPath(), req.URL.RawQuery, as)
	return nil
}

// extraHeader returns the name of the header for a key of a user's extra. The API server makes its
// letters small, and then undoes the escapes: so capital letters are escaped, like all that a name
// cannot have.
//
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
func extraHeader(key string) string {
	name := []byte("Impersonate-Extra-")
	for _, c := range []byte(key) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' {
			name = append(name, c)
		} else {
			name = fmt.Appendf(name, "%%%02x", c)
		}
	}
	return http.CanonicalHeaderKey(string(name))
}

// forward sends a request to the upstream with the relay's credentials, and answers with what comes
// back. w is a [flushed] or a [forwardedWatch].
func (r *Relay) forward(w http.ResponseWriter, req *http.Request, path, query string, headers http.Header) {
	proxy := httputil.ReverseProxy{
		Transport: r.client.RoundTripper(),
		ErrorLog:  log.New(io.Discard, "", 0), // a reader that hangs up is no news
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{RawQuery: query}
			p.Out.URL.Path, _ = url.PathUnescape(path) // it was escaped here
			p.Out.URL.RawPath = path
			p.Out.Host = ""
			for name := range p.Out.Header { // each is judged by itself: the order does not matter
				if !forwarded[name] {
					delete(p.Out.Header, name)
				}
			}
			for name, values := range headers {
				p.Out.Header[name] = values
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode == http.StatusUnauthorized { // the relay's credentials are meant, and not the reader's
				return apierrors.NewUnauthorized("it does not know the relay")
			}
			resp.ContentLength = 0 // if it is unknown, another goroutine flushes, and w flushes by itself
			if resp.Header.Get("Cache-Control") != "" {
				w.Header().Del("Cache-Control") // the upstream's is added to what is there
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeError(w, unreachable(err))
		},
	}
	proxy.ServeHTTP(w, req)
}

// forwarded are the headers of a reader that the upstream gets. Credentials are not among them.
var forwarded = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Content-Type": true, "Content-Length": true, "Content-Encoding": true,
	"If-None-Match": true, "User-Agent": true, "Kubectl-Command": true, "Kubectl-Session": true,
}

// upgrades reports whether a request needs another protocol than HTTP. A client that offers h2c can
// also do without, and the Java client offers it in every first request without TLS.
func upgrades(req *http.Request) bool {
	protocol := req.Header.Get("Upgrade")
	return protocol != "" && !strings.EqualFold(protocol, "h2c")
}

// errUpgrade answers an upgrade that the upstream would have to make. The relay's own connections
// to it are HTTP/2, which has no upgrades.
var errUpgrade = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotImplemented,
	Message: "the relay does not pass on connections that are upgraded (kubectl exec, attach, cp and port-forward, and a WebSocket watch " +
		"that its cache cannot answer): send this request to the API server itself",
}}
