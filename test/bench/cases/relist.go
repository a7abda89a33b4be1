package cases

import (
	"context"
	"fmt"

	"github.com/relist-go/relist/test/bench/measure"
)

// relistAgain measures a list for a full store, until the handler has been called for every
// difference.
func relistAgain(ctx context.Context, e *env, percent int) error {
	f, err := e.fill(ctx)
	if err != nil {
		return err
	}
	measure.Settle()
	m := measure.Start()
	version, err := e.post(ctx, "expire", fmt.Sprintf("count=%d", e.objects*percent/100))
	if err != nil {
		return err
	}
	if err := f.awaitList(ctx, version); err != nil {
		return err
	}
	// The last object of the list changes once more. When the handler has that change, it has all
	// earlier ones.
	version, err = e.post(ctx, "change", fmt.Sprintf("count=1&index=%d", e.objects-1))
	if err != nil {
		return err
	}
	if err := f.awaitVersion(ctx, version); err != nil {
		return err
	}
	m.Stop(e.result)
	return f.check(e.objects)
}

// awaitList waits until the informer has a list of this version, or later.
func (f filled) awaitList(ctx context.Context, version uint64) error {
	return Poll(ctx, fmt.Sprintf("a list at version %d", version), func() bool { return Version(f.Version()) >= version })
}
