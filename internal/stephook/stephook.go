// Package stephook carries a function in a context from who starts a reflector to the goroutine that drives its machine.
package stephook

import (
	"context"
	"time"

	"github.com/relist-go/relist/protocol"
)

type key struct{}

// Hook is called after each step of a machine, and before its effects are performed. It runs on the goroutine that owns the
// machine, and must keep neither the machine nor the effects: the next step uses them again.
type Hook func(now time.Time, machine *protocol.Machine, in protocol.Input, effects []protocol.Effect)

// Step has the machine take a step, and reports it if there is a hook.
func (h Hook) Step(machine *protocol.Machine, now time.Time, in protocol.Input) []protocol.Effect {
	effects := machine.Step(now, in)
	if h != nil {
		h(now, machine, in, effects)
	}
	return effects
}

// With returns a context in which a reflector runs whose steps are reported to hook.
func With(ctx context.Context, hook Hook) context.Context { return context.WithValue(ctx, key{}, hook) }

// From returns the hook of a context; nil if it has none.
func From(ctx context.Context) Hook {
	hook, _ := ctx.Value(key{}).(Hook)
	return hook
}
