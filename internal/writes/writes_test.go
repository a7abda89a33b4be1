package writes

import (
	"context"
	"errors"
	"testing"
)

// A process may be stopped while a write is prepared: the gate is asked when it is ready.
func TestGateIsLast(t *testing.T) {
	over := errors.New("over")
	var why error
	ctx := WithGate(t.Context(), func() (leave func(), err error) { return func() {}, why })
	ctx = WithNotes(ctx, func(Write) func(Write) {
		why = over
		return func(Write) { t.Error("a write that did not begin was noted") }
	})
	err := Do(ctx, Write{}, func(*Write) error {
		t.Error("it was sent")
		return nil
	})
	if !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
}

// A write whose context has ended before it is not sent, so nobody has to ask what became of it.
func TestWriteAfterItsContext(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	ctx = WithNotes(ctx, func(Write) func(Write) {
		return func(Write) { t.Error("it was noted") }
	})
	if err := Do(ctx, Write{}, func(*Write) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
