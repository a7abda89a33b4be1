package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/internal/hook"
)

// kind is what all exchanges of one sort have in common. A Client has one for Get, and
// one for each way that a watch can travel.
type kind struct {
	op        string // for errors: "watch", or the method in lower case
	via       *connector
	gzip      bool // the answer may come compressed
	upgrade   bool // the request asks for a WebSocket
	anyStatus bool // a response of any status is the answer, not an error
}

// exchange is one request of the caller's, from its start until its body is closed. It
// knows what errors have to say about the request, and what they must not quote.
//
// An exchange is made by [Client.begin] alone. Its request is sent by do, in one attempt
// or two.
type exchange struct {
	kind
	*lifetime
	secrets

	client  *Client
	request Request
	method  string    // "" is GET
	content []byte    // of the request; nil for none
	url     string    // for errors: without the query
	onRead  hook.Read // nil if nobody asked
	onConn  hook.Conn // nil if nobody asked
	last    *attempt  // nil before the first
	stage   stage
}

// begin starts an exchange. The context that it returns is that of the exchange.
func (c *Client) begin(ctx context.Context, k kind, req Request) (context.Context, *exchange) {
	x := &exchange{kind: k, client: c, request: req, url: c.server.name + req.Path}
	x.onRead, x.onConn = hook.From[hook.Read](ctx), hook.From[hook.Conn](ctx)
	x.known = c.proxySecrets
	ctx, x.lifetime = newLifetime(ctx)
	return ctx, x
}

// do sends the request. It returns the response if that is a success, with the body still
// to be read.
func (x *exchange) do(ctx context.Context) (*Response, error) {
	resp, err := x.send(ctx)
	if err != nil {
		return nil, x.abandon(err)
	}
	x.holdBody(ctx, closerOf(resp))
	if x.onConn != nil {
		x.tellConn()
	}
	var content io.ReadCloser = &body{raw: resp.Body, exchange: x}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		if content, err = x.decompress(resp.Header, content); err != nil {
			return nil, x.abandon(malformed{err})
		}
	}
	return &Response{
		Body:       content,
		MediaType:  mediaType(resp.Header.Get("Content-Type")),
		StatusCode: resp.StatusCode,
		Header:     resp.Header,
		exchange:   x,
	}, nil
}

// send makes an attempt. It makes a second one if the first failed for a credential or a
// certificate that has been rotated since. If neither has changed, another attempt is for
// the caller to make, at a pace of its own choice.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	hr, err := x.newRequest(ctx)
	if err != nil {
		return nil, err
	}
	return x.sendRequest(ctx, hr)
}

// sendRequest is send for a request that is ready except for the credential.
func (x *exchange) sendRequest(ctx context.Context, hr *http.Request) (*http.Response, error) {
	source := x.client.credentials
	if own := hr.Header.Get("Authorization"); own != "" {
		if !x.client.secretive {
			return nil, fmt.Errorf("the request has an Authorization header, but %w", ErrCleartext)
		}
		source = fixedCredential{authorization: own} // of the caller, who renews it
	}
	x.stage = stageCredential
	with, err := source.get(ctx)
	if err != nil {
		return nil, x.orEnded(err)
	}
	first := x.attempt(hr, with)
	if !first.again {
		return first.answer()
	}
	with, err = x.renew(ctx, source, first)
	if first.resp != nil && err != errRefused { //nolint:errorlint // if more is to say, it is wrapped
		x.client.problems.report("credential", err) // the caller sees the 401 only
	}
	again, ok := sendAgain(hr)
	if err == nil && !ok {
		err = first.err
	}
	if err != nil {
		if first.resp != nil {
			return first.resp, nil
		}
		return nil, err
	}
	first.discard(x)
	return x.attempt(again, with).answer()
}

// errRefused stands for a 401 that is the answer.
var errRefused = errors.New("401 Unauthorized")

// attempt is one try of an exchange: a request with a credential, on connections that
// were made with one identity. It has either a response or an error; if the response is a
// 401, both.
type attempt struct {
	with  credential
	on    *generation              // nil if no connection could be prepared
	end   func()                   // gives the connections back; nil if on is
	conn  atomic.Pointer[net.Conn] // that the request was sent on last; nil if none was
	resp  *http.Response           // of a success
	err   error
	again bool // another credential or certificate may help

	// Of a response that is not a success.
	unauthorized bool // 401
	emptyBody    bool
	isStatus     bool // the body is a Status
}

func (a *attempt) answer() (*http.Response, error) {
	if a.resp != nil {
		return a.resp, nil
	}
	return nil, a.err
}

// discard gives up a response, so that its connection can be used again.
func (a *attempt) discard(x *exchange) {
	if a.resp == nil {
		return
	}
	defer x.hurry().Stop()
	_ = readErrorBody(a.resp.Body, x.client.maxError)
	_ = a.resp.Body.Close()
}

// attempt sends the request once. It uses the RoundTripper, not an http.Client: an
// http.Client follows redirects, and a credential must not go to another host.
func (x *exchange) attempt(hr *http.Request, with credential) *attempt {
	if x.last != nil {
		x.last.end()
	}
	a := &attempt{with: with}
	x.last, x.authorization = a, with.authorization
	a.on, a.end = x.via.use()
	x.hold(a.end)
	reqCtx := hr.Context()
	var sent atomic.Bool
	if !isSafe(hr.Method) {
		reqCtx = httptrace.WithClientTrace(reqCtx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	}
	reqCtx = httptrace.WithClientTrace(reqCtx, &httptrace.ClientTrace{
		GetConn: func(string) { a.conn.Store(nil) }, // perhaps because the last one broke
		GotConn: a.noteConn,
	})
	hr = hr.WithContext(reqCtx) // the first attempt may still be using its own
	hr.Header = hr.Header.Clone()
	with.authorize(hr.Header)
	x.stage = stageConnection
	resp, err := a.on.RoundTrip(hr)
	switch {
	case err == nil:
		x.stage = stageAnswered
	case a.conn.Load() != nil:
		x.stage = stageSent
	}
	if ended := x.ended(); ended != nil {
		// A server that sees the client go may still answer before the connection is
		// down. Nobody waits for that answer.
		if err == nil {
			_ = closerOf(resp).Close()
		}
		a.err = ended
		return a
	}
	switch {
	case err != nil:
		// Perhaps the connection could not be made because it trusts the wrong
		// authority, or shows the wrong certificate.
		a.err, a.again = err, isSafe(hr.Method) || !sent.Load()
	case x.client.onlyHTTP2 && !x.upgrade && resp.ProtoMajor != 2:
		_ = resp.Body.Close()
		a.err, a.again = malformed{fmt.Errorf("the server answered with %s, and ProtocolHTTP2 asks for HTTP/2", resp.Proto)}, isSafe(hr.Method)
	case x.anyStatus:
		a.resp = resp
		if resp.StatusCode == http.StatusUnauthorized {
			a.unauthorized, a.again, a.err = true, true, errRefused
		}
	case resp.StatusCode/100 == 2, x.upgrade && resp.StatusCode == http.StatusSwitchingProtocols:
		a.resp = resp
	default:
		a.unauthorized = resp.StatusCode == http.StatusUnauthorized
		a.again = a.unauthorized
		a.err = x.refused(a, resp)
	}
	return a
}

// renew looks for what was rotated since an attempt: certificates and, after a 401, the
// credential. It returns the credential for the next attempt. If nothing has changed, it
// returns the error of the attempt, since another attempt would not help.
func (x *exchange) renew(ctx context.Context, source authorizer, a *attempt) (credential, error) {
	changed, problem := x.via.renew(a.on)
	next := a.with
	if a.unauthorized {
		var err error
		if next, err = source.renew(ctx, a.with); err != nil {
			return next, x.orEnded(fmt.Errorf("%w (and %w)", a.err, err))
		}
	}
	switch {
	case changed, next != a.with:
		return next, nil
	case problem != nil:
		return next, fmt.Errorf("%w (and there are no new certificates: %w)", a.err, problem)
	}
	return next, a.err
}

// orEnded returns why the exchange has ended, or else err.
func (x *exchange) orEnded(err error) error {
	return cmp.Or(x.ended(), err)
}

// abandon ends the exchange, and returns its error.
func (x *exchange) abandon(err error) error {
	_ = x.close(nil) // the error says why
	return x.fail(err)
}

// fail says which request an error is about.
func (x *exchange) fail(err error) error {
	return &RequestError{Op: x.op, URL: x.url, Err: x.redactError(err), stage: x.stage}
}

// failRead makes the error of a read, of a body or of a frame in it. A body that is read
// while its context ends fails in one of several ways, which depend on the protocol and on
// chance. It may even end cleanly, if the server saw the client go and had time to say
// goodbye. The reason is the context.
func (x *exchange) failRead(err error) error {
	if ended := x.ended(); ended != nil {
		return x.fail(ended)
	}
	var known *RequestError
	if err == io.EOF || errors.As(err, &known) { //nolint:errorlint // only the bare one is an end
		return err // what read a frame has it from the body, which named the request
	}
	return x.fail(err)
}

// body is the body of a response. Its errors say which request they are about.
type body struct {
	raw      io.Reader
	exchange *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.raw.Read(p)
	if n > 0 && b.exchange.onRead != nil {
		b.exchange.onRead(n)
	}
	if err != nil {
		err = b.exchange.failRead(err)
	}
	return n, err
}

// Close ends the exchange.
func (b *body) Close() error { return b.exchange.close(errClosed) }

// lifetime is how long an exchange lasts: until it fails, its body is closed, or its
// context ends. What the exchange holds is given back then, once.
type lifetime struct {
	ended   func() error // why the context of the exchange has ended; nil if it has not
	cancel  context.CancelCauseFunc
	unwatch func() bool  // ends the wait for the end of the context
	finish  func() error // giveBack, once

	body io.Closer // nil before there is a response
	held []func()  // each gives something back
}

func newLifetime(ctx context.Context) (context.Context, *lifetime) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &lifetime{ended: func() error { return endOf(ctx) }, cancel: cancel, unwatch: func() bool { return true }}
	l.finish = sync.OnceValue(l.giveBack)
	return ctx, l
}

// hold adds what is to be given back.
func (l *lifetime) hold(release func()) { l.held = append(l.held, release) }

// holdBody adds the body of the response. From now on the end of the context closes it,
// too: over HTTP/2, a stream that nobody reads any more would keep its connection open
// after the Client is closed.
func (l *lifetime) holdBody(ctx context.Context, body io.Closer) {
	l.body = body
	l.unwatch = context.AfterFunc(ctx, func() { _ = l.finish() }) // close returns what it says
}

// close ends the exchange for a reason, before it closes the body: over HTTP/2 that sends
// RST_STREAM at once, and with either protocol it frees a Read that waits. If the end of
// the context is closing the body already, close waits until that is done.
func (l *lifetime) close(why error) error {
	l.unwatch()
	l.cancel(why)
	return l.finish()
}

func (l *lifetime) giveBack() (err error) {
	if l.body != nil {
		err = l.body.Close()
	}
	for _, release := range slices.Backward(l.held) {
		release()
	}
	return err
}

// closerOf returns what closes the body of a response once its request's context has ended.
// Over HTTP/1.1 the end of the context closes the connection, so nothing is left to close.
// The body's own Close does harm there: since Go 1.27 it reads on for up to 50 ms, since the
// connection might serve another request, and the server learns of the end that much later.
func closerOf(resp *http.Response) io.Closer {
	if resp.ProtoMajor == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
		return nothing{}
	}
	return resp.Body
}

// nothing has nothing to close.
type nothing struct{}

func (nothing) Close() error { return nil }

// errorBodyTimeout bounds the wait for the body of an error. A watch has no timeout that
// would bound it.
const errorBodyTimeout = 10 * time.Second

var errSlowBody = fmt.Errorf("the body of the error did not arrive within %v", errorBodyTimeout)

// hurry ends the exchange if reading the body of an error takes too long.
func (l *lifetime) hurry() *time.Timer {
	return time.AfterFunc(errorBodyTimeout, func() { l.cancel(errSlowBody) })
}

// endOf returns why ctx has ended, nil if it has not. If the caller of a request
// gave a cause of its own, both that and context.Canceled can be found in it.
func endOf(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil // as before each frame: no lock is taken
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, err), errors.Is(cause, errClosed), errors.Is(cause, errSlowBody), errors.Is(cause, errNoPong):
		return cause
	default:
		return fmt.Errorf("%w: %w", err, cause)
	}
}
