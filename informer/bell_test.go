package informer

import (
	"context"
	"testing"
)

func TestBell(t *testing.T) {
	var b bell
	var ctx context.Context
	b.ring() // before anyone listens
	ctx, rung := b.hear(t.Context(), ctx)
	if !rung || ctx.Err() != nil {
		t.Fatalf("rung %v, context %v", rung, ctx.Err())
	}
	if again, rung := b.hear(t.Context(), ctx); rung || again != ctx {
		t.Error("heard what was not rung")
	}
	b.ring()
	b.ring() // twice is once
	if ctx.Err() == nil {
		t.Error("the waiting goes on")
	}
	next, rung := b.hear(t.Context(), ctx)
	if !rung || next.Err() != nil {
		t.Errorf("rung %v, context %v", rung, next.Err())
	}
	if _, rung := b.hear(t.Context(), next); rung {
		t.Error("heard twice")
	}
}
