package transport

import (
	"context"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// limit bounds how many of something there are at once. Nil is no bound.
type limit chan struct{}

func newLimit(n int) limit {
	if n <= 0 {
		return nil
	}
	return make(limit, n)
}

// acquire waits for a place, and returns how to give it back.
func (l limit) acquire(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pace bounds how often something begins. Nil is no bound.
type pace struct{ tokens *rate.Limiter }

func newPace(perSecond float64, burst int) *pace {
	if perSecond <= 0 || math.IsNaN(perSecond) {
		return nil
	}
	if burst <= 0 {
		burst = int(max(1, min(perSecond, math.MaxInt32)))
	}
	return &pace{tokens: rate.NewLimiter(rate.Limit(perSecond), burst)}
}

// wait waits for its turn. One that goes away leaves its turn to the others.
func (p *pace) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	turn := p.tokens.Reserve()
	delay := turn.Delay()
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return context.Cause(ctx)
	}
}
