// Package stephook has the hook of a machine's steps, which package hook carries from who starts a reflector to the goroutine that
// drives its machine. It is not in package hook, because package transport uses that and knows no protocol.
package stephook

import (
	"time"

	"github.com/relist-go/relist/protocol"
)

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
