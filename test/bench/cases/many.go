package cases

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
)

// noNamespace is the number of the first namespace that has no objects.
const noNamespace = 5000

// manyIdle measures what it takes to start informers, and then what each keeps.
func manyIdle(ctx context.Context, e *env) error {
	return e.many(ctx, func(i int, spec *Spec) { spec.Namespace = objects.Namespace(noNamespace + i) })
}

// manyTypes measures the same, but each informer has a resource of its own, with a few objects.
func manyTypes(ctx context.Context, e *env) error {
	return e.many(ctx, func(i int, spec *Spec) { spec.Resource = objects.Type(i) })
}

// many starts informers, each with what change makes of the case's Spec, and measures what each takes.
func (e *env) many(ctx context.Context, change func(i int, spec *Spec)) error {
	heap, stacks, goroutines, sockets := measure.HeapInUse(), stackInUse(), runtime.NumGoroutine(), measure.Sockets()
	resident := measure.Settle()
	m := measure.Start()
	var informers []Informer
	for i := range e.objects {
		spec := e.spec
		change(i, &spec)
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
	// The lists have ended, and the watches open within a moment. The result hardly depends on them.
	if err := settle(ctx); err != nil {
		return err
	}
	m.Stop(e.result)
	n := float64(e.objects)
	e.result.Set("connections", float64(measure.Sockets()-sockets))
	e.result.Set("goroutines per informer", float64(runtime.NumGoroutine()-goroutines)/n)
	e.result.Set("heap per informer, KB", (float64(measure.HeapInUse())-float64(heap))/n/1000)
	e.result.Set("stacks per informer, KB", (float64(stackInUse())-float64(stacks))/n/1000)
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

func stackInUse() uint64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.StackInuse
}

// manyChurn measures changes that are spread over many informers.
func manyChurn(ctx context.Context, e *env) error {
	var all []filled
	for i := range e.objects {
		spec := e.spec
		spec.Namespace = objects.Namespace(i)
		f := filled{follower: newFollower()}
		var err error
		if f.Informer, err = e.client.Start(ctx, spec, f.handle); err != nil {
			return err
		}
		all = append(all, f)
	}
	for _, f := range all {
		if err := f.awaitAdds(ctx, objects.PerNamespace); err != nil {
			return err
		}
	}
	if err := settle(ctx); err != nil {
		return err
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d", e.events))
	if err != nil {
		return err
	}
	for i, f := range all {
		// The objects change one after the other, and the last ones belong to the last informer.
		behind := (len(all) - 1 - i) * objects.PerNamespace
		if err := f.awaitVersion(ctx, version-uint64(behind)); err != nil {
			return err
		}
	}
	e.perEvent(m.Stop(e.result))
	for _, f := range all {
		if err := f.check(objects.PerNamespace); err != nil {
			return err
		}
	}
	return nil
}
