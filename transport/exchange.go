package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exchange is one request from its start until its body is closed: what errors need
// to know of it, and how to end it.
type exchange struct {
	op, url       string
	via           *connector
	upgrade       bool        // a WebSocket is asked for
	authorization string      // as sent
	known         [][]byte    // what must not be quoted besides, such as a proxy's password
	onRead        func(n int) // see [WithReadHook]; nil if nobody asked
	emptyBody     bool        // of the last refusal
	isStatus      bool        // the body of the last refusal is a Status

	// rewrite returns the request as it is sent, with its credential; nil if it stays
	// what it is.
	rewrite func(*http.Request) *http.Request

	// status decodes the Status of an error; see [Request.Status].
	status func(body []byte) (metav1.Status, error)

	// ended returns why the context of the exchange has ended, nil if it has not.
	ended  func() error
	cancel context.CancelCauseFunc
	// end gives back the connections that the present try uses, and done does so for
	// good, once the body is closed.
	end, done func()
}

// accepts reports whether a response is a success.
func (x *exchange) accepts(resp *http.Response) bool {
	return resp.StatusCode/100 == 2 || x.upgrade && resp.StatusCode == http.StatusSwitchingProtocols
}

// errorBodyTimeout bounds the wait for the body of an error, which nobody else may
// be guarding: a watch has no timeout.
const errorBodyTimeout = 10 * time.Second

var errSlowBody = errors.New("the body of the error did not arrive in time")

// hurry ends the exchange when reading the body of an error takes too long.
func (x *exchange) hurry() *time.Timer {
	return time.AfterFunc(errorBodyTimeout, func() { x.cancel(errSlowBody) })
}

// fail says which request an error is about.
func (x *exchange) fail(err error) error {
	return &RequestError{Op: x.op, URL: x.url, Err: x.redactError(err)}
}

// failRead makes the error of a read. A body that is read while its context ends
// fails in several ways, by protocol and by chance, or even ends cleanly, when the
// server saw the client go and had time to say goodbye. The reason is the context.
func (x *exchange) failRead(err error) error {
	if ended := x.ended(); ended != nil {
		return x.fail(ended)
	}
	if err == io.EOF { //nolint:errorlint // only the bare one is an end
		return err
	}
	return x.fail(err)
}

// endOf returns why ctx has ended, nil if it has not. If the caller of a request
// gave a cause of its own, both that and context.Canceled can be found in it.
func endOf(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil // as before each frame: no lock is taken
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, err), errors.Is(cause, ErrClosed), errors.Is(cause, errSlowBody), errors.Is(cause, errNoPong):
		return cause
	default:
		return fmt.Errorf("%w: %w", err, cause)
	}
}

// body is that of a response. Its errors say which request they are about. It is
// closed when the context ends, too: a connection of HTTP/2 that still counted a
// stream which nobody reads any more would outlive the Client.
type body struct {
	raw      io.Reader
	exchange *exchange
	unwatch  func() bool  // ends the wait for the end of the context
	release  func() error // closes what is read, once
}

func newBody(ctx context.Context, raw io.ReadCloser, x *exchange) *body {
	release := sync.OnceValue(func() error {
		defer x.done()
		return raw.Close()
	})
	return &body{
		raw:      raw,
		exchange: x,
		unwatch:  context.AfterFunc(ctx, func() { _ = release() }), // Close returns what it says
		release:  release,
	}
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

// Close ends the exchange first: over HTTP/2 that sends RST_STREAM at once, and on
// either protocol it frees a Read that waits. If the end of the context is closing the
// body already, Close waits until that is done.
func (b *body) Close() error {
	b.unwatch()
	b.exchange.cancel(ErrClosed)
	return b.release()
}
