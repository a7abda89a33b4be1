package apitest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/relist-go/relist/server/watchcache"
)

// A watch is one open watch request. The goroutine of the request owns it. Faults use only its
// stream.
//
// Its watcher is a position in the window of the replica's cache. There is no queue of events for
// it, so a client that does not read costs no memory. If the window has moved past the position,
// the server closes the watch.
type watch struct {
	srv     *Server
	table   *table
	format  format
	stream  *stream
	watcher *watchcache.Watcher

	start     uint64 // a bookmark must be newer than this version
	bookmarks bool
}

// watchBatch is the largest number of changes that are encoded before they are written. So it
// limits the memory of a watch: to 256 KB for usual Pods.
const watchBatch = 32

// watch answers a watch request. If it returns an error, nothing was sent, and the caller sends the
// error. Later errors are sent as ERROR events.
func (r *Replica) watch(w http.ResponseWriter, req *http.Request, t *table, f format, sel selection, opts *internalversion.ListOptions) error {
	rv, err := watchcache.ParseVersion(opts.ResourceVersion)
	if err != nil {
		return err
	}
	ctx := req.Context()
	timeout := r.srv.opts.WatchTimeout
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		timeout = time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	over := opts.TimeoutSeconds != nil && *opts.TimeoutSeconds < 0 // the timeout of the watch, when it begins
	withInitial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	clock := newWatchClock(timeout, r.srv.faults.bookmarkPeriod(), opts.AllowWatchBookmarks, withInitial)
	defer clock.bookmark.Stop()

	cache, latest := r.cache(t)
	wa := &watch{srv: r.srv, table: t, format: f, bookmarks: opts.AllowWatchBookmarks}
	q := watchcache.WatchQuery{Selection: sel.Selection, Version: rv, Wait: opts.SendInitialEvents != nil, Initial: withInitial}
	if q.Wait && opts.ResourceVersion == "" {
		q.Version = latest
	}
	if wa.watcher, err = cache.Watch(ctx, q); err == nil {
		wa.start = wa.watcher.Version()
	} else if errors.Is(err, watchcache.ErrNotReady) {
		return err
	}
	serve := func(ctx context.Context, out output) {
		switch {
		case out.begin() != nil: // the client hung up
		case err != nil:
			// After the server has accepted a watch, errors are ERROR events
			// (watch-rv-too-old.http).
			_ = wa.write(ctx, f.status(nil, statusOf(err)))
		default:
			r.srv.faults.markOpen(wa.stream)
			if (!withInitial || wa.sendInitial(ctx) == nil) && !over {
				wa.run(ctx, clock)
			}
		}
	}
	var out output = newBody(w)
	messages := newMessages(f.contentType(true))
	switch {
	case isWebSocket(req):
		out = messages
	case withInitial && acceptsGzip(req):
		out = gzipBody{newBody(w), newGzip(w)}
	}
	// A fault can reach the stream before the client has got an answer.
	wa.stream = r.srv.faults.open(out, t.res.ID(), spared(req))
	defer r.srv.faults.release(wa.stream)
	if isWebSocket(req) {
		r.srv.faults.upgrade(w, req, messages, serve)
		return nil
	}
	w.Header().Set("Content-Type", f.contentType(true))
	w.WriteHeader(http.StatusOK)
	serve(ctx, out)
	return nil
}

// sendInitial sends the initial events: one ADDED for each object, and the bookmark that ends them
// if the client has asked for bookmarks.
func (wa *watch) sendInitial(ctx context.Context) error {
	var b []byte
	for chunk := range slices.Chunk(wa.watcher.Initial(), watchBatch) {
		b = b[:0]
		for _, o := range chunk {
			b = wa.event(b, watchcache.Added, o.(*revision))
		}
		if err := wa.write(ctx, b); err != nil {
			return err
		}
	}
	if !wa.bookmarks || wa.swallows(swallowInitialEventsEnd) {
		return nil
	}
	return wa.write(ctx, wa.format.bookmark(nil, wa.watcher.Version(), true))
}

// run sends changes and bookmarks until the watch ends.
func (wa *watch) run(ctx context.Context, clock *watchClock) {
	defer wa.watcher.Close()
	var b []byte
	bookmark := false
	for {
		changed := wa.watcher.Changed()
		events, more, err := wa.watcher.Next(watchBatch)
		switch {
		case errors.Is(err, watchcache.ErrRestarted):
			_ = wa.stream.write(nil) // it ends as the fault says
			return
		case err != nil:
			return // the watch was too slow
		}
		b = wa.append(b[:0], events)
		if bookmark && !more {
			bookmark = false
			if at := wa.watcher.Version(); at > wa.start && !wa.swallows(swallowBookmarks) {
				b = wa.format.bookmark(b, at, false)
			}
		}
		if len(b) > 0 && wa.write(ctx, b) != nil {
			return
		}
		if more {
			continue
		}
		select {
		case <-changed:
		case <-wa.stream.wake:
			clock.setPeriod(wa.srv.faults.bookmarkPeriod())
			if wa.write(ctx, nil) != nil {
				return
			}
		case <-clock.bookmark.C:
			bookmark = true
			clock.nextBookmark()
		case <-clock.deadline:
			// A stalled watch must not end cleanly, because the client has to notice the stall by
			// itself.
			_ = wa.stream.awaitResume(ctx, wa.srv.done)
			return
		case <-ctx.Done():
			return
		case <-wa.srv.done:
			return
		}
	}
}

// append encodes events. A fault may leave some out.
func (wa *watch) append(b []byte, events []watchcache.Event) []byte {
	for _, e := range events {
		if wa.stream.spared || !wa.srv.storage.drop(e.Object.Version()) {
			b = wa.event(b, e.Type, e.Object.(*revision))
		}
	}
	return b
}

// event appends one event. A fault may replace the object of the event.
func (wa *watch) event(b []byte, typ eventType, r *revision) []byte {
	r = wa.table.shown(r)
	if !wa.stream.spared {
		r = wa.srv.faults.rewrite(wa.table.res, typ, r)
	}
	return wa.format.event(b, typ, r)
}

func (wa *watch) swallows(what string) bool {
	return !wa.stream.spared && wa.srv.faults.swallows(what)
}

// write sends b in one piece. Faults may delay, cut or extend it.
func (wa *watch) write(ctx context.Context, b []byte) error {
	if err := wa.stream.awaitResume(ctx, wa.srv.done); err != nil {
		return err
	}
	return wa.stream.write(b)
}

// bookmarkLead is how long before its timeout a watch gets a last bookmark, so that the next one
// starts near the present.
const bookmarkLead = 2 * time.Second

// A watchClock says when a watch ends, and when its next bookmark is due.
type watchClock struct {
	end      time.Time // zero: never
	wanted   bool      // the client asked for bookmarks
	period   time.Duration
	deadline <-chan time.Time
	bookmark *time.Timer
}

// secondBookmark is when a watch with initial events gets a bookmark if there have been changes by
// then. kube-apiserver looks each second whether the bookmark that ends initial events can be sent,
// and once more after it was.
const secondBookmark = time.Second

func newWatchClock(timeout, period time.Duration, bookmarks, initial bool) *watchClock {
	c := &watchClock{period: period, wanted: bookmarks}
	if timeout > 0 {
		c.end = time.Now().Add(timeout)
		c.deadline = time.After(timeout)
	}
	c.bookmark = time.NewTimer(time.Hour)
	c.bookmark.Stop()
	c.nextBookmark()
	if initial && bookmarks && period > secondBookmark {
		c.bookmark.Reset(secondBookmark)
	}
	return c
}

// setPeriod restarts the time to the next bookmark if the period has changed.
func (c *watchClock) setPeriod(period time.Duration) {
	if c.period != period {
		c.period = period
		c.nextBookmark()
	}
}

// nextBookmark sets the timer: a period from now, or shortly before the end, whichever is first.
func (c *watchClock) nextBookmark() {
	if !c.wanted || c.period <= 0 {
		c.bookmark.Stop()
		return
	}
	d := c.period
	if !c.end.IsZero() {
		if last := time.Until(c.end) - bookmarkLead; last > 0 {
			d = min(d, last)
		}
	}
	c.bookmark.Reset(d)
}
