package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// RoundTripper returns an [http.RoundTripper] that sends any request to the API server over
// the connections of the Client, with its credentials, impersonation and User-Agent. It is
// for requests that this module has no function for: logs, exec, a proxied service. To
// write objects, use package writer.
//
// The URL of a request is relative to Config.Server ("/api/v1/pods"), or begins with it.
// Every other URL is an error, and nothing is sent: a credential goes to no other host, also
// if an [http.Client] follows a redirect. A request may have an Authorization header of its
// own, which replaces that of the Config. An upgrade of the connection needs HTTP/1.1:
// [ProtocolHTTP1].
//
// An answer of any status is a response, as it came, but if the URL of the request is
// relative, a Location is made a whole URL. There is one exception: after a 401 the request is
// sent once more if a credential or a certificate has been rotated since, and if the body can
// be sent again: by GetBody, or because none of it was read. A request that may have changed
// something on the server is sent twice for no other reason. If no new credential can be read
// after a 401, Config.OnProblem is told why.
//
// MaxConcurrentGets and Gzip have no effect. There is no timeout: give
// the request's context a deadline. The errors are [RequestError]s.
func (c *Client) RoundTripper() http.RoundTripper { return tripper{c} }

// tripper makes an [http.RoundTripper] of a Client.
type tripper struct{ client *Client }

// RoundTrip implements [http.RoundTripper].
func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	c := t.client
	k := kind{op: strings.ToLower(r.Method), via: c.connections, anyStatus: true}
	k.op = cmp.Or(k.op, "get")
	path, err := c.server.pathOf(r.URL)
	ctx, x := c.begin(r.Context(), k, Request{Path: path})
	if r.Body != nil {
		x.hold(func() { _ = r.Body.Close() }) // perhaps a second time
	}
	if err != nil {
		x.url = withoutQuery(r.URL)
		return nil, x.abandon(err)
	}
	hr, err := c.passOn(ctx, r, path)
	if err != nil {
		return nil, x.abandon(err)
	}
	resp, err := x.sendRequest(ctx, hr)
	if err != nil {
		return nil, x.abandon(err)
	}
	x.holdBody(ctx, closerOf(resp))
	resp.Request = r
	if r.URL.Host == "" {
		completeLocation(resp, hr.URL)
	}
	content := &body{raw: resp.Body, exchange: x}
	w, writable := resp.Body.(io.Writer)
	switch {
	case resp.Body == http.NoBody:
		_ = x.close(nil) // there is nothing to close; whoever gets it may leave it
	case writable && resp.StatusCode == http.StatusSwitchingProtocols:
		resp.Body = upgradedBody{content, w}
	default:
		resp.Body = content
	}
	return resp, nil
}

// completeLocation makes the Location of an answer a whole URL. An [http.Client] would understand
// it as relative to the URL of the request, which lacks the path of the server.
func completeLocation(resp *http.Response, sent *url.URL) {
	location := resp.Header.Get("Location")
	if location == "" {
		return
	}
	if whole, err := sent.Parse(location); err == nil { // otherwise whoever follows it says what is wrong with it
		resp.Header.Set("Location", whole.String())
	}
}

// upgradedBody is a connection after an upgrade.
type upgradedBody struct {
	*body
	io.Writer
}

// passOn returns the request to send instead of r, without the credential.
func (c *Client) passOn(ctx context.Context, r *http.Request, path string) (*http.Request, error) {
	hr, err := c.newRequest(ctx, r.Method, path, r.URL.RawQuery, r.Header, nil)
	if err != nil {
		return nil, err
	}
	if agent, own := r.Header["User-Agent"]; own {
		hr.Header["User-Agent"] = slices.Clone(agent) // who sends any request may name itself
	}
	hr.ContentLength, hr.TransferEncoding, hr.Trailer, hr.Close = r.ContentLength, r.TransferEncoding, r.Trailer, r.Close
	if r.Body != nil && r.Body != http.NoBody {
		hr.Body, hr.GetBody = &givenBody{body: r.Body}, r.GetBody
	}
	return hr, nil
}

// pathOf returns the path of a URL below the URL of the server. The URL is relative to
// the server, or begins with its URL.
func (e endpoint) pathOf(u *url.URL) (string, error) {
	if u == nil {
		return "", errors.New("the request has no URL")
	}
	path := u.EscapedPath()
	if u.Scheme != "" || u.Host != "" || u.Opaque != "" {
		under, ok := strings.CutPrefix(path, e.url.EscapedPath())
		if !e.isOrigin(u) || !ok || under != "" && under[0] != '/' {
			return "", fmt.Errorf("the URL is not one of the server %s, to which alone the credentials go", strings.TrimSuffix(e.name, ":"))
		}
		path = under
		path = cmp.Or(path, "/")
	}
	return path, checkPath(path)
}

// isOrigin reports whether a URL has the scheme, the host and the port of the server.
func (e endpoint) isOrigin(u *url.URL) bool {
	port := "80"
	if e.url.Scheme == "https" {
		port = "443"
	}
	return u.Opaque == "" && strings.EqualFold(u.Scheme, e.url.Scheme) && strings.EqualFold(hostPort(u, port), hostPort(e.url, port))
}

// withoutQuery names a URL in an error, without what may be secret.
func withoutQuery(u *url.URL) string {
	if u == nil {
		return "(no URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
