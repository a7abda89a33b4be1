package relay

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/server/watchcache"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// An upstream is one resource: its cache, and the reflector that keeps it in step.
type upstream struct {
	discovery.Resource
	cache     *watchcache.Cache
	feed      *feed
	reflector *reflector.Reflector[raw]
	metadata  source.ListWatcher[*metav1.PartialObjectMetadata]
	saved     *saved // nil: nothing is saved
	latest    batch[uint64]
	watches   atomic.Int64 // of readers, that are open
}

func newUpstream(client *transport.Client, resource discovery.Resource, opts *Options) (*upstream, error) {
	lw, err := listwatch.New(client, resource.GroupVersionResource, listwatch.Options[raw]{})
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	u := &upstream{Resource: resource, cache: watchcache.New(opts.Cache)}
	u.feed = &feed{cache: u.cache, fields: selectableOf(resource)}
	if u.metadata, err = lw.Metadata(); err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	// A reader that compares its copy compares it with this cache, so the cache has to be compared
	// with the upstream.
	follow := reflector.Options{
		Initial: reflector.Consistent,
		Verify:  reflector.VerifyOptions{Interval: opts.VerifyEvery, Metadata: u.metadata},
	}
	if opts.Trace != nil {
		follow.Trace = opts.Trace(resource)
	}
	u.reflector = reflector.New(lw, u.feed, follow)
	u.latest.run = u.refresh
	if opts.Dir != "" {
		u.saved = newSaved(opts.Dir, client.Server(), resource)
	}
	return u, nil
}

// run keeps the cache in step until ctx ends. It begins with the window that was saved. If there is
// none, or it cannot be used, it begins with a list.
func (u *upstream) run(ctx context.Context, opts *Options) error {
	if u.saved == nil {
		return u.reflector.Run(ctx)
	}
	log, h, err := u.saved.load(u.feed.fields)
	opts.problem(err)
	if h.Point.Version != "" {
		u.reflector.StartAt(h.Point) // before readers can get the states, so that they learn how old these are
		_ = u.cache.Restore(log)     // every object of a file has a name
		if opts.OnRestored != nil {
			opts.OnRestored(u.Resource, u.cache.Len(), h.Point.Version)
		}
	}
	var saving sync.WaitGroup
	saving.Go(func() { u.keepSaved(ctx, opts) })
	err = u.reflector.Run(ctx)
	saving.Wait()
	opts.problem(u.saved.save(u.feed, u.current()))
	return err
}

// keepSaved saves the window periodically, until ctx ends.
func (u *upstream) keepSaved(ctx context.Context, opts *Options) {
	tick := time.NewTicker(opts.SaveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			opts.problem(u.saved.save(u.feed, u.current()))
		case <-ctx.Done():
			return
		}
	}
}

// gone returns the answer to every request while the upstream answers that it has no such type, as
// after its CustomResourceDefinition was deleted, and nil otherwise.
func (u *upstream) gone() error {
	if _, err := u.reflector.Status().Failing(); apierrors.IsNotFound(err) {
		return apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, u.GroupResource(), "", "", 0, false)
	}
	return nil
}

// current returns when the cache was last known to be up to date.
func (u *upstream) current() time.Time {
	now := time.Now()
	return now.Add(-u.reflector.Status().Staleness(now))
}

// freshTimeout is the timeout of the watch that refresh opens. kube-apiserver sends a bookmark two
// seconds before a watch ends.
const freshTimeout = 3

// refresh brings the cache to a version that the resource had after the call, and returns that
// version.
//
// The upstream is asked for one object, because the list has the version of the present state. The
// cache cannot know that nothing happened up to there before the next bookmark, which comes once a
// minute (https://github.com/kubernetes/kubernetes/issues/127693). So a second watch, which asks
// for metadata only, begins at the cache's version and ends so soon that its bookmark comes after a
// second. The last of its events is the last change before the bookmark: once the cache has that,
// it is as new as the bookmark.
func (u *upstream) refresh(ctx context.Context) (uint64, error) {
	if err := u.cache.WaitFor(ctx, 0); err != nil {
		return 0, err // before the first list there is no version at which a watch sends its events in order
	}
	page, err := u.metadata.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, unreachable(err)
	}
	want, err := decimal(page.ResourceVersion)
	if err != nil {
		return 0, err
	}
	from, lists := u.feed.now()
	if from >= want {
		return want, nil
	}
	watch, err := u.metadata.Watch(ctx, metav1.ListOptions{
		ResourceVersion:     strconv.FormatUint(from, 10),
		AllowWatchBookmarks: true,
		TimeoutSeconds:      new(int64(freshTimeout)),
	})
	if err != nil {
		return 0, unreachable(err)
	}
	defer func() { _ = watch.Close() }()
	last := from
	for last < want {
		event, err := watch.Next()
		if err != nil {
			return 0, unreachable(fmt.Errorf("no bookmark at version %d or later: %w", want, err))
		}
		version, err := decimal(event.Meta.ResourceVersion)
		if err != nil {
			return 0, err
		}
		if event.Type == object.Bookmark {
			if err := u.cache.WaitFor(ctx, last); err != nil {
				return 0, err
			}
			u.feed.progress(version, lists)
		}
		last = version
	}
	return want, u.cache.WaitFor(ctx, want)
}
