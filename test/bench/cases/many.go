package cases

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/relist-go/relist/test/bench/measure"
)

// manyIdle measures what it takes to start informers, each of a namespace without Pods, and then
// what each keeps.
func manyIdle(ctx context.Context, e *env) error {
	heap, goroutines := measure.HeapInUse(), runtime.NumGoroutine()
	resident := measure.Settle()
	m := measure.Start()
	var informers []Informer
	for i := range e.objects {
		spec := e.spec
		spec.Namespace = fmt.Sprintf("idle-%04d", i)
		in, err := e.client.Start(ctx, spec, newFollower().handle)
		if err != nil {
			return err
		}
		informers = append(informers, in)
	}
	for _, in := range informers {
		f := filled{newFollower(), in}
		if err := f.awaitList(ctx, 1); err != nil {
			return err
		}
	}
	// The lists have ended, and the watches open within a moment. The result hardly depends on
	// them.
	if err := settle(ctx); err != nil {
		return err
	}
	m.Stop(e.result)
	n := float64(e.objects)
	e.result.Set("goroutines per informer", float64(runtime.NumGoroutine()-goroutines)/n)
	e.result.Set("heap per informer, KB", (float64(measure.HeapInUse())-float64(heap))/n/1000)
	e.result.Set("RSS per informer, KB", (float64(measure.Settle())-float64(resident))/n/1000)
	runtime.KeepAlive(informers)
	return nil
}

// settle waits until the number of goroutines has not changed for half a second.
func settle(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for last, same := 0, 0; same < 5; same++ {
		if now := runtime.NumGoroutine(); now != last {
			last, same = now, 0
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for goroutines to settle: %w", ctx.Err())
		}
	}
	return nil
}
