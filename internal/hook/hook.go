// Package hook carries functions in a context from who starts something to who does it, past the
// packages between, which need not know of them. A function is found by its type, so who calls From
// names the same type as who called With.
package hook

import (
	"context"
	"time"
)

type (
	// Read is called with the number of bytes each time some of a response's body have arrived.
	Read func(n int)

	// Conn is called when an answer with a 2xx status begins, on the goroutine that sends the
	// request. The function gone reports whether the connection of that answer has been closed
	// since, by either end.
	Conn func(gone func() bool)

	// Step is called after each step of a state machine, and before its effects are performed. It
	// runs on the goroutine that owns the machine, and must keep neither the machine nor the
	// effects: the next step uses them again. Its users name the types, which this package does
	// not, because package transport knows no protocol.
	Step[M Machine[Input, Effect], Input, Effect any] func(now time.Time, machine M, in Input, effects []Effect)
)

// Machine is a state machine: a step takes an input, and says what to do.
type Machine[Input, Effect any] interface {
	Step(now time.Time, in Input) []Effect
}

// Step has the machine take a step, and reports it if there is a hook.
func (h Step[M, Input, Effect]) Step(machine M, now time.Time, in Input) []Effect {
	effects := machine.Step(now, in)
	if h != nil {
		h(now, machine, in, effects)
	}
	return effects
}

type key[F any] struct{}

// With returns a context with a hook. It replaces a hook of the same type.
func With[F any](ctx context.Context, hook F) context.Context {
	return context.WithValue(ctx, key[F]{}, hook)
}

// From returns the hook of a context that has the type F; nil if it has none.
func From[F any](ctx context.Context) F {
	hook, _ := ctx.Value(key[F]{}).(F)
	return hook
}
