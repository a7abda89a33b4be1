package transport

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTheEndComesWithTheAnswer has the context end between the moment that the answer is
// there and the one at which it is looked at.
func TestTheEndComesWithTheAnswer(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		body := &closeNoted{Reader: strings.NewReader("{}")}
		c := newTestClient(t, Config{Server: "http://api.example", RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: make(http.Header), Body: body, Request: r}, nil
		})})
		looks := 0
		ctx, x := c.begin(t.Context(), c.gets, Request{Path: "/"})
		x.ended = func() error {
			if looks++; looks == 1 {
				return nil
			}
			return context.Canceled
		}
		resp, err := x.send(ctx)
		if resp != nil {
			resp.Body.Close()
		}
		if resp == nil && err == nil || !body.closed {
			t.Errorf("%d: response %v, error %v, body closed %v", status, resp, err, body.closed)
		}
	}
}

type closeNoted struct {
	io.Reader
	closed bool
}

func (c *closeNoted) Close() error {
	c.closed = true
	return nil
}
