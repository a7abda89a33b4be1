package programs

import (
	"context"
	"time"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/trace"
)

// Only is [trace.Mirror] with a machine that has no other guests than these.
func Only(has protocol.Guests) trace.Program {
	return func(env trace.Env) (trace.Client, error) {
		c, err := trace.Mirror(env)
		if err != nil {
			return nil, err
		}
		return &partial{c.(mirror), has}, nil
	}
}

// mirror is what a run and its recorder can ask a Mirror.
type mirror interface {
	trace.Client
	Saved() any
	Queued() []string
}

// partial is a client whose machine lacks guests.
type partial struct {
	mirror
	has protocol.Guests
}

func (p *partial) Run(ctx context.Context) error {
	type step = hook.Step[*protocol.Machine, protocol.Input, protocol.Effect]
	recorder := hook.From[step](ctx)
	return p.mirror.Run(hook.With[step](ctx, func(now time.Time, m *protocol.Machine, in protocol.Input, effects []protocol.Effect) {
		m.Only(p.has, in)
		if recorder != nil {
			recorder(now, m, in, effects)
		}
	}))
}
