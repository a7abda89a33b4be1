package writes

import (
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
