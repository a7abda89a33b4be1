package cases

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
)

// storeReads measures reads of a full store, one after the other, while the server makes 1,000
// changes a second.
func storeReads(ctx context.Context, e *env, read func(in Informer, key, node string) bool) error {
	e.spec.ByNode = true
	f, err := e.fill(ctx)
	if err != nil {
		return err
	}
	keys := f.Keys()
	nodes := make([]string, min(len(keys), objects.Nodes))
	for i := range nodes {
		nodes[i] = objects.NodeName(i)
	}
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		cpu, begin := measure.ThreadCPU(), time.Now()
		for i := 0; ; i++ {
			switch {
			case stop.Load():
				e.result.Set("reads/s", float64(i)/time.Since(begin).Seconds())
				e.result.Set("CPU per read, µs", 1e6*(measure.ThreadCPU()-cpu).Seconds()/float64(i))
				done <- nil
				return
			case !read(f, keys[i%len(keys)], nodes[i%len(nodes)]):
				done <- fmt.Errorf("read %d has found nothing", i)
				return
			}
		}
	}()
	version, err := e.post(ctx, "change", fmt.Sprintf("count=%d&rate=1000", e.events))
	if err == nil {
		err = f.awaitVersion(ctx, version)
	}
	stop.Store(true)
	return errors.Join(err, <-done)
}
