package cases

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/relist-go/relist/bench/measure"
	"github.com/relist-go/relist/bench/objects"
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
	var lags []float64 // in ms; callbacks come one at a time
	f, err := e.fill(ctx, func(object any, added bool) {
		sent, err := strconv.ParseInt(object.(interface{ GetAnnotations() map[string]string }).GetAnnotations()[objects.SentAnnotation], 10, 64)
		if err == nil && !added {
			lags = append(lags, float64(time.Now().UnixNano()-sent)/1e6)
		}
	})
	if err != nil {
		return err
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=1000", e.events))
	if err != nil {
		return err
	}
	if err := f.awaitVersion(ctx, version); err != nil {
		return err
	}
	e.perEvent(m.Stop(e.result))
	return e.percentiles(lags)
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
