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
	f, err := e.fill(ctx)
	if err != nil {
		return err
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d", e.events))
	if err != nil {
		return err
	}
	if err := f.awaitVersion(ctx, version); err != nil {
		return err
	}
	e.perEvent(m.Stop(e.result))
	return f.check(e.objects)
}

// perEvent adds the cost of one event.
func (e *env) perEvent(wall, cpu time.Duration) {
	e.result.Set(measure.Rate, float64(e.events)/wall.Seconds())
	e.result.Set(measure.EventCPU, float64(cpu.Nanoseconds())/1000/float64(e.events))
}

// slowConsumer blocks one handler, and measures the memory of the changes that wait for it when all changes have come.
func slowConsumer(ctx context.Context, e *env) error {
	told := 0
	hung, release := make(chan struct{}), make(chan struct{})
	released := false
	defer func() {
		if !released {
			close(release)
		}
	}()
	f, err := e.fill(ctx, func(any, bool) {
		if told++; told == e.objects+1 {
			close(hung)
			<-release
		}
	})
	if err != nil {
		return err
	}
	before := measure.HeapInUse()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d", e.events))
	if err != nil {
		return err
	}
	if err := f.awaitVersion(ctx, version); err != nil {
		return err
	}
	select {
	case <-hung:
	case <-ctx.Done():
		return fmt.Errorf("the slow handler was never called: %w", ctx.Err())
	}
	e.perEvent(m.Stop(e.result))
	e.result.Set("waiting for the handler, MB", (float64(measure.HeapInUse())-float64(before))/measure.MB)
	released = true
	close(release)
	return f.check(e.objects)
}

// lag measures the time from each change to the handler.
func lag(ctx context.Context, e *env) error {
	t := newTimed(e.events)
	if _, err := e.fill(ctx, t.handle); err != nil {
		return err
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=1000", e.events))
	if err != nil {
		return err
	}
	if err := t.awaitVersion(ctx, version); err != nil {
		return err
	}
	e.perEvent(m.Stop(e.result))
	return e.percentiles(t.lags)
}

// tenHandlers lets one of ten handlers sleep for a second in each callback. It measures the lag of the others, and the
// memory that the changes have added when all have come.
func tenHandlers(ctx context.Context, e *env) error {
	more := []Handler{func(any, bool) {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}}
	var others []*timed // eight; the ninth is the follower
	for range 8 {
		t := newTimed(e.events)
		others, more = append(others, t), append(more, t.handle)
	}
	if _, err := e.fill(ctx, more...); err != nil {
		return err
	}
	before := measure.HeapInUse()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=2500", e.events))
	if err != nil {
		return err
	}
	for _, t := range others {
		if err := t.awaitVersion(ctx, version); err != nil {
			return err
		}
	}
	e.perEvent(m.Stop(e.result))
	e.result.Set("memory added, MB", (float64(measure.HeapInUse())-float64(before))/measure.MB)
	var lags []float64
	for _, t := range others {
		lags = append(lags, t.lags...)
	}
	e.result.Set("longest lag, ms", slices.Max(lags))
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

// percentiles sets the metrics. There may be fewer lags than events, because updates of one object may be merged.
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
