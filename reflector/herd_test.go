package reflector_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Three hundred reflectors lose their server for ten seconds, and it comes back without
// a memory: every watch is refused with 410. Their lists must not arrive together.
// https://github.com/kubernetes/kubernetes/issues/86483
func TestListsOfAHerdAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const herd = 300
		server := &crowded{end: make(chan struct{}), version: "100"}
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		var all []*reflector.Reflector[*metav1.PartialObjectMetadata]
		for range herd {
			sink := store.New(store.Options[*metav1.PartialObjectMetadata]{})
			r := reflector.New(server, reflector.InMemory(sink), reflector.Options{})
			all = append(all, r)
			group.Go(func() { _ = r.Run(ctx) })
		}
		synctest.Wait()
		if n := len(server.takeLists()); n != herd {
			t.Fatalf("%d lists at first, want %d", n, herd)
		}

		server.lose()
		<-time.After(10 * time.Second)
		server.comeBack("200")
		<-time.After(2 * time.Minute)
		synctest.Wait()
		lists := server.takeLists()
		for _, r := range all {
			if status := r.Status(); status.State != reflector.Watching || status.ResourceVersion != "200" {
				t.Fatalf("two minutes later the status is %+v", status)
			}
		}
		stop()
		group.Wait()

		if len(lists) != herd {
			t.Errorf("%d lists, want one of each, which are %d", len(lists), herd)
		}
		slices.SortFunc(lists, time.Time.Compare)
		if spread := lists[len(lists)-1].Sub(lists[0]); spread < 5*time.Second {
			t.Errorf("all lists came within %v, want at least 5s", spread)
		}
		most := 0
		for i := range lists {
			within := 0
			for _, at := range lists[i:] {
				if at.Sub(lists[i]) < 100*time.Millisecond {
					within++
				}
			}
			most = max(most, within)
		}
		if most > herd/10 {
			t.Errorf("%d lists came within 100 ms, want at most one in ten of %d", most, herd)
		}
		t.Logf("%d lists within %v, at most %d of them within 100 ms", len(lists), lists[len(lists)-1].Sub(lists[0]), most)
	})
}

// crowded is a server with nothing in it and many clients.
type crowded struct {
	mu      sync.Mutex
	down    bool
	version string
	end     chan struct{} // closed when the connections are lost
	lists   []time.Time   // whole ones; those of one object ask for the version
}

func (c *crowded) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = true
	close(c.end)
}

// comeBack has the server begin its window at a version.
func (c *crowded) comeBack(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down, c.version, c.end = false, version, make(chan struct{})
}

func (c *crowded) takeLists() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	lists := c.lists
	c.lists = nil
	return lists
}

func (c *crowded) List(_ context.Context, opts metav1.ListOptions) (*listwatch.Page[*metav1.PartialObjectMetadata], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, syscall.ECONNREFUSED
	}
	if opts.Limit != 1 {
		c.lists = append(c.lists, time.Now())
	}
	return &listwatch.Page[*metav1.PartialObjectMetadata]{ResourceVersion: c.version}, nil
}

func (c *crowded) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Watch[*metav1.PartialObjectMetadata], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.down:
		return nil, syscall.ECONNREFUSED
	case opts.ResourceVersion != c.version:
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
	}
	return &quiet{ctx: ctx, end: c.end}, nil
}

// quiet is a watch in which nothing happens until its connection is lost.
type quiet struct {
	ctx context.Context //nolint:containedctx // a stream ends with the context of its request
	end chan struct{}
}

func (q *quiet) Next() (listwatch.Event[*metav1.PartialObjectMetadata], error) {
	select {
	case <-q.end:
		return listwatch.Event[*metav1.PartialObjectMetadata]{}, io.ErrUnexpectedEOF
	case <-q.ctx.Done():
		return listwatch.Event[*metav1.PartialObjectMetadata]{}, q.ctx.Err()
	}
}

func (*quiet) Close() error { return nil }
