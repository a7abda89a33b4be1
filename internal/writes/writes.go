// Package writes lets package controller see and stop the writes of the functions that it calls. A
// note and a gate are in the context of the functions, so these need not know of them. Package
// writer calls [Do] for each request.
package writes

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch/source"
)

// Write is what a request has done to an object.
type Write struct {
	Server    string // its URL
	Resource  string // such as "deployments.apps", as a Scope has it
	Namespace string // of the object; "" if it has none
	Key       string // "" if the server was to make the name, and has not answered
	UID       types.UID

	// Version is the one that the write has made, or that of the object if it changed nothing. It
	// is empty if that is not known: the object is gone, or there was no answer.
	Version string

	Labels     map[string]string // as they are on the server, if Labeled
	Labeled    bool
	Deleted    bool // it is gone; one with finalizers or a grace period was only changed
	Unanswered bool // the server may have made the write, or may make it yet
}

// A Gate lets a write begin, or returns the error of the write. leave is called when the request
// has ended.
type Gate func() (leave func(), err error)

type (
	gateKey struct{}
	noteKey struct{}
)

// WithGate returns a context whose writes begin only if gate lets them.
func WithGate(ctx context.Context, gate Gate) context.Context {
	return context.WithValue(ctx, gateKey{}, gate)
}

// WithNotes returns a context whose writes are noted, on the goroutine that makes them: begin is
// called before a write is sent, and what it returns afterwards, unless the server has refused it.
func WithNotes(ctx context.Context, begin func(Write) (end func(Write))) context.Context {
	return context.WithValue(ctx, noteKey{}, begin)
}

// Do sends a write, if the context lets it. send fills in what has become of it.
func Do(ctx context.Context, w Write, send func(*Write) error) error {
	end := func(Write) {}
	if begin, ok := ctx.Value(noteKey{}).(func(Write) func(Write)); ok {
		end = begin(w)
	}
	if gate, ok := ctx.Value(gateKey{}).(Gate); ok { // at the very last
		leave, err := gate()
		if err != nil {
			return err
		}
		defer leave()
	}
	ended := ctx.Err() != nil // so nothing is sent
	err := send(&w)
	if err == nil || !ended && !refused(err) {
		w.Unanswered = err != nil
		end(w)
	}
	return err
}

// refused reports whether an error says that the server has not made the write. One of 500 and
// more may come from a proxy, or from a server that has given up waiting for its own storage.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code < 500 || source.IsUnreachable(err) || source.IsDenied(err)
}
