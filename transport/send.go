package transport

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// try sends a request, and once more if it failed for a credential or a certificate
// that has been rotated meanwhile. What has not changed is not tried again: that is
// for the caller to do, at the pace that he thinks fit.
func (c *Client) try(ctx context.Context, x *exchange, req Request) (*http.Response, error) {
	hr, err := c.newRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	if (c.gzip && x.op == "get" || c.gzipWatches && !x.upgrade) && hr.Header.Get("Accept-Encoding") == "" {
		hr.Header.Set("Accept-Encoding", "gzip")
	}
	own := hr.Header.Get("Authorization") != "" // the caller's, which is his to renew
	if own && !c.secretive {
		return nil, fmt.Errorf("the request has an Authorization header, but %w", ErrCleartext)
	}
	var used credential
	if !own {
		if used, err = c.credentials.get(ctx); err != nil {
			return nil, orEnded(x, err)
		}
		used.authorize(hr)
	}
	resp, g, err := c.send(x, hr)
	switch {
	case err != nil && (x.ended() != nil || g == nil):
		return nil, err
	case err == nil && x.accepts(resp):
		return resp, nil
	case err == nil && resp.StatusCode != http.StatusUnauthorized:
		return nil, c.refused(x, resp)
	}
	unauthorized := err == nil
	if unauthorized {
		err = c.refused(x, resp)
	}
	// The connection could not be made, for all that is known here because it trusts
	// the wrong authority, or shows the wrong certificate; or this is a 401.
	changed, problem := x.via.renew(g)
	if unauthorized && !own {
		fresh, failed := c.credentials.renew(ctx, used)
		if failed != nil {
			return nil, orEnded(x, fmt.Errorf("%w (and %w)", err, failed))
		}
		if fresh != used {
			changed = true
			hr = hr.WithContext(ctx)
			hr.Header = hr.Header.Clone()
			fresh.authorize(hr)
		}
	}
	switch {
	case !changed && problem != nil:
		return nil, fmt.Errorf("%w (and new certificates cannot be had: %w)", err, problem)
	case !changed:
		return nil, err // it is this credential that is refused, and asking again would not help
	}
	if resp, _, err = c.send(x, hr); err != nil || x.accepts(resp) {
		return resp, err
	}
	return nil, c.refused(x, resp)
}

// orEnded returns why the exchange has ended, or else err.
func orEnded(x *exchange, err error) error {
	if ended := x.ended(); ended != nil {
		return ended
	}
	return err
}

func (c credential) authorize(hr *http.Request) {
	if c.authorization != "" {
		hr.Header.Set("Authorization", c.authorization)
	} else {
		hr.Header.Del("Authorization")
	}
}

func (c *Client) newRequest(ctx context.Context, req Request) (*http.Request, error) {
	if err := checkPath(req.Path); err != nil {
		return nil, err
	}
	target := c.server.base + req.Path
	if len(req.Query) > 0 {
		target += "?" + req.Query.Encode()
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	if req.Header != nil {
		hr.Header = req.Header.Clone()
	}
	hr.Header.Set("User-Agent", c.userAgent)
	hr.Header.Set("Accept", jsonMediaType)
	if req.Accept != "" {
		hr.Header.Set("Accept", req.Accept)
	}
	impersonate(hr.Header, c.asUser)
	return hr, nil
}

// send uses the RoundTripper, not an http.Client: that one would follow redirects,
// and a credential must not go to another host. It returns the connections that were
// used, too, nil if there were none to use.
func (c *Client) send(x *exchange, hr *http.Request) (*http.Response, *generation, error) {
	x.end() // of a first try
	x.end = func() {}
	g, end, err := x.via.use()
	if err != nil {
		return nil, nil, err
	}
	x.end = end
	x.authorization = hr.Header.Get("Authorization")
	if x.rewrite != nil {
		hr = x.rewrite(hr)
	}
	resp, err := g.RoundTrip(hr)
	if ended := x.ended(); ended != nil {
		// A server that sees the client go may still answer, before the connection is
		// down. It answers a request that nobody waits for.
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, g, ended
	}
	if err != nil {
		return nil, g, err
	}
	if c.onlyHTTP2 && !x.upgrade && resp.ProtoMajor != 2 {
		_ = resp.Body.Close()
		return nil, g, fmt.Errorf("the server answered with %s, and ProtocolHTTP2 asks for HTTP/2", resp.Proto)
	}
	return resp, g, nil
}

// refused makes the error of a response that is not a success, and closes it.
func (c *Client) refused(x *exchange, resp *http.Response) *apierrors.StatusError {
	defer x.hurry().Stop()
	defer resp.Body.Close()
	plain, err := x.decompress(resp.Header, resp.Body)
	if err != nil {
		plain = resp.Body // the status counts more than what cannot be read
	}
	body := readErrorBody(plain, c.maxError)
	x.emptyBody = len(body) == 0
	status := statusError(resp, body, x)
	x.redactStatus(&status.ErrStatus) // what describes it may quote headers
	return status
}
