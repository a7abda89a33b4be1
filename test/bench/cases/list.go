package cases

import (
	"context"
	"fmt"

	"github.com/relist-go/relist/test/bench/measure"
)

// list measures an informer from its start until its store is full and its
// handler has been called for every object.
func list(ctx context.Context, e *env) error {
	before, err := e.post(ctx, "sent", "count=0")
	if err != nil {
		return err
	}
	m := measure.Start()
	if _, err := e.fill(ctx); err != nil {
		return err
	}
	m.Stop(e.result)
	after, err := e.post(ctx, "sent", "count=0")
	if err != nil {
		return err
	}
	e.result.Set(measure.Received, float64(after-before)/measure.MB)
	return nil
}

// filled is an informer with its first state, and the follower of its changes.
type filled struct {
	*follower
	Informer
}

// fill starts an informer and waits until its handler has been called for every
// object.
func (e *env) fill(ctx context.Context, more ...Handler) (filled, error) {
	f := filled{follower: newFollower()}
	var err error
	if f.Informer, err = e.client.Start(ctx, e.spec, append([]Handler{f.handle}, more...)...); err != nil {
		return f, err
	}
	if err := f.awaitAdds(ctx, e.objects); err != nil {
		return f, err
	}
	return f, f.check(e.objects)
}

// check fails if the store does not hold n objects.
func (f filled) check(n int) error {
	if adds := int(f.adds.Load()); adds != n {
		return fmt.Errorf("the handler was told of %d objects, want %d", adds, n)
	}
	if held := len(f.Keys()); held != n {
		return fmt.Errorf("the store has %d objects, want %d", held, n)
	}
	return nil
}
