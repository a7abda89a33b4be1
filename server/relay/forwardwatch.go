package relay

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A forwardedWatch is the answer to a watch that the upstream gives, behind a guard. It is the
// ResponseWriter of [Relay.forward].
type forwardedWatch struct {
	flushed

	turn    chan struct{} // holds one while somebody uses the fields below, or writes
	guard   *guard
	begun   bool  // its head was written
	lines   bool  // it is JSON, a line for each event
	mid     bool  // a line was written in part
	ended   bool  // with an ERROR, or refused
	refused error // before the upstream has answered; it is the answer
}

// askWatch answers a watch with what forward brings from the upstream.
func (r *Relay) askWatch(w http.ResponseWriter, g *guard, forward func(http.ResponseWriter, *http.Request)) {
	ctx, cancel := context.WithCancel(g.req.Context())
	g.req = g.req.WithContext(ctx)
	watch := &forwardedWatch{flushed: flushed{newBody(w, 0)}, turn: make(chan struct{}, 1), guard: g}
	var asking sync.WaitGroup
	first := g.untilDue()
	asking.Go(func() {
		defer cancel()
		watch.askWhileIdle(first)
	})
	defer func() {
		cancel()
		asking.Wait()
		if watch.refused != nil {
			writeError(watch.flushed, watch.refused)
		}
		watch.close()
		// ReverseProxy aborts the answer if the upstream does not end it. After an ERROR it has
		// ended.
		if p := recover(); p != nil && (p != any(http.ErrAbortHandler) || !watch.ended) {
			panic(p)
		}
	}()
	forward(watch, g.req)
}

// askWhileIdle asks after the time wait, and again. It returns when the reader has lost the right,
// when the request ends, or when the relay does.
func (o *forwardedWatch) askWhileIdle(wait time.Duration) {
	for {
		select {
		case <-time.After(wait):
		case <-o.guard.req.Context().Done():
			return
		case <-o.guard.relay.done:
			return
		}
		o.turn <- struct{}{}
		err := o.guard.due()
		if err != nil && !o.mid {
			o.end(err)
		}
		wait = o.guard.untilDue()
		<-o.turn
		if err != nil {
			return
		}
	}
}

func (o *forwardedWatch) WriteHeader(code int) {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.ended {
		return // what follows is about the end of the request
	}
	h := o.Header()
	o.begun = true
	o.lines = code == http.StatusOK && h.Get("Content-Type") == "application/json" && h.Get("Content-Encoding") == ""
	o.flushed.WriteHeader(code)
}

// Write writes what the upstream sent. If the right is gone, it writes no more than the rest of the
// event that was begun, and an ERROR.
func (o *forwardedWatch) Write(b []byte) (int, error) {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.ended {
		return 0, context.Canceled
	}
	refused := o.guard.ready(o.flush)
	if rest := bytes.IndexByte(b, '\n') + 1; refused != nil && o.mid {
		if rest == 0 {
			return 0, refused
		}
		b = b[:rest]
	} else if refused != nil {
		b = nil
	}
	n, err := o.flushed.Write(b)
	if n > 0 {
		o.mid = o.lines && b[n-1] != '\n'
	}
	if refused != nil && err == nil {
		o.end(refused)
		return n, refused
	}
	return n, err
}

// end writes an ERROR event behind a whole event, if the answer is JSON. Other forms end without.
// What has not begun ends with the error as its answer, which is for the goroutine of forward to
// write.
func (o *forwardedWatch) end(err error) {
	known := apierrors.APIStatus(nil)
	switch {
	case !errors.As(err, &known):
	case !o.begun:
		o.ended, o.refused = true, err
	case o.lines:
		o.ended = true
		_ = send(o, errorEvent(err)) // an error is a client that hung up
	}
}
