package cases

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
)

// A follower is a handler that records the number and the newest version of the
// objects it was called with.
type follower struct {
	adds, version         atomic.Int64 // seen
	wantAdds, wantVersion atomic.Int64 // waited for
	reached               chan struct{}
}

func newFollower() *follower {
	f := &follower{reached: make(chan struct{}, 1)}
	f.wantAdds.Store(-1)
	f.wantVersion.Store(-1)
	return f
}

// handle is a Handler.
func (f *follower) handle(object any, added bool) {
	if added && f.adds.Add(1) == f.wantAdds.Load() {
		f.wake()
	}
	version, err := strconv.ParseInt(object.(interface{ GetResourceVersion() string }).GetResourceVersion(), 10, 64)
	if err == nil && version > f.version.Load() {
		f.version.Store(version) // callbacks come one at a time
		if want := f.wantVersion.Load(); want >= 0 && version >= want {
			f.wake()
		}
	}
}

func (f *follower) wake() {
	select {
	case f.reached <- struct{}{}:
	default: // there is a token already
	}
}

// awaitAdds waits until n objects were added.
func (f *follower) awaitAdds(ctx context.Context, n int) error {
	return f.await(ctx, &f.adds, &f.wantAdds, int64(n), "objects")
}

// awaitVersion waits until a version as high as this was handled.
func (f *follower) awaitVersion(ctx context.Context, version uint64) error {
	return f.await(ctx, &f.version, &f.wantVersion, int64(version), "version")
}

func (f *follower) await(ctx context.Context, seen, want *atomic.Int64, n int64, what string) error {
	want.Store(n)
	for seen.Load() < n {
		select {
		case <-f.reached:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s %d, and got to %d: %w", what, n, seen.Load(), ctx.Err())
		}
	}
	return nil
}
