package cases

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
)

// steadyWatch measures changes that the server sends as fast as the client reads them.
func steadyWatch(ctx context.Context, e *env) error {
	var others []*follower
	var more []Handler
	for range e.spec.Handlers - 1 {
		others = append(others, newFollower())
		more = append(more, others[len(others)-1].handle)
	}
	f, err := e.fill(ctx, more...)
	if err != nil {
		return err
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d", e.events))
	if err != nil {
		return err
	}
	for _, f := range append(others, f.follower) {
		if err := f.awaitVersion(ctx, version); err != nil {
			return err
		}
	}
	e.perEvent(m.Stop(e.result))
	return f.check(e.objects)
}

func (e *env) perEvent(wall, cpu time.Duration) {
	e.result.Set(measure.Rate, float64(e.events)/wall.Seconds())
	e.result.Set(measure.EventCPU, float64(cpu.Nanoseconds())/1000/float64(e.events))
}

// lag measures the time from each change to the handler, of one informer, or of one for each Pod.
func lag(ctx context.Context, e *env, each bool) error {
	one, n := *e, 1
	if each {
		one.objects, n = 1, e.objects
	}
	var all []*timed
	for i := range n {
		if each {
			one.spec.Node = objects.NodeName(i)
		}
		t := newTimed(e.events/n + 1)
		if _, err := one.fill(ctx, t.handle); err != nil {
			return err
		}
		all = append(all, t)
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=500", e.events))
	if err != nil {
		return err
	}
	var lags []float64
	for i, t := range all[:min(n, e.events)] { // Pods change in turn, so each has its last change at another version
		if err := t.awaitVersion(ctx, version-uint64((e.events-1-i)%n)); err != nil {
			return err
		}
		lags = append(lags, t.lags...)
	}
	e.perEvent(m.Stop(e.result))
	return e.percentiles(lags)
}

// timed is a handler that also records the time from each change to its callback, in milliseconds.
type timed struct {
	*follower
	lags []float64 // complete when awaitVersion has returned
}

// newTimed has memory for so many events, so that recording them allocates nothing.
func newTimed(events int) *timed { return &timed{newFollower(), make([]float64, 0, events)} }

// handle is a Handler.
func (t *timed) handle(object any, added bool) {
	sent, err := strconv.ParseInt(object.(interface{ GetAnnotations() map[string]string }).GetAnnotations()[objects.SentAnnotation], 10, 64)
	if err == nil && !added {
		t.lags = append(t.lags, float64(time.Now().UnixNano()-sent)/1e6)
	}
	t.follower.handle(object, added)
}

// percentiles sets the metrics. There may be fewer lags than events, because updates of one object
// may be merged.
func (e *env) percentiles(lags []float64) error {
	if len(lags) < e.events/2 {
		return fmt.Errorf("the handler was told of %d changes, of %d", len(lags), e.events)
	}
	slices.Sort(lags)
	at := func(p float64) float64 { return lags[int(math.Ceil(p*float64(len(lags))))-1] }
	e.result.Set("lag p50, ms", at(0.50))
	e.result.Set("lag p99, ms", at(0.99))
	return nil
}
