package cases

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
)

// storeReads measures reads of a full store, one after the other, while the server makes 1,000
// changes a second. It subtracts what the same changes take without reads.
func storeReads(ctx context.Context, e *env, read func(in Informer, key, node string) bool) error {
	e.spec.ByNode = true
	f, err := e.fill(ctx)
	if err != nil {
		return err
	}
	var stop atomic.Bool
	changes := func() (wall, cpu float64, err error) {
		m := measure.Start()
		version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=1000", e.events))
		if err == nil {
			err = f.awaitVersion(ctx, version)
		}
		stop.Store(true)
		w, c := m.Stop(new(measure.Result))
		return w.Seconds(), c.Seconds(), err
	}
	_, without, err := changes()
	if err != nil {
		return err
	}
	keys := f.Keys()
	nodes := make([]string, min(len(keys), objects.Nodes))
	for i := range nodes {
		nodes[i] = objects.NodeName(i)
	}
	stop.Store(false)
	count := make(chan int)
	go func() {
		i := 0
		for read(f, keys[i%len(keys)], nodes[i%len(nodes)]) && !stop.Load() {
			i++
		}
		count <- i
	}()
	wall, cpu, err := changes()
	if err != nil {
		return err
	}
	reads := float64(<-count)
	e.result.Set("reads/s", reads/wall)
	e.result.Set("CPU per read, µs", 1e6*(cpu-without)/reads)
	return nil
}
