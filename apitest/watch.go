package apitest

import (
	"context"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
)

// A watch is one open watch request. The goroutine of the request owns it. Faults use only its stream.
//
// A watch has a position, and reads the changes after it from the replica's window. There is no queue of events for it,
// so a client that does not read costs no memory. If the window has moved past the position, the server closes the
// watch.
type watch struct {
	replica *Replica
	table   *table
	sel     selection
	format  format
	stream  *stream

	pos       uint64 // every change up to this version was sent or skipped
	start     uint64 // a bookmark must be newer than this version
	restored  int    // storage.restored when the watch began
	bookmarks bool
	again     int // events that a fault sends a second time
}

// watchBatch is the largest number of changes that are encoded before they are written. So it limits the memory of a
// watch: to 256 KB for usual Pods.
const watchBatch = 32

// watch answers a watch request. If it returns an error, nothing was sent, and the caller sends the error. Later
// errors are sent as ERROR events.
func (r *Replica) watch(w http.ResponseWriter, req *http.Request, t *table, f format, sel selection, opts *internalversion.ListOptions) error {
	rv, err := parseRV(opts.ResourceVersion)
	if err != nil {
		return err
	}
	ctx := req.Context()
	timeout := 45 * time.Minute // the middle of what kube-apiserver chooses from
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		timeout = time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	over := opts.TimeoutSeconds != nil && *opts.TimeoutSeconds < 0 // the timeout of the watch, when it begins
	withInitial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	clock := newWatchClock(timeout, r.srv.faults.bookmarkPeriod(), opts.AllowWatchBookmarks, withInitial)
	defer clock.stop()

	wa := &watch{replica: r, table: t, sel: sel, format: f, pos: rv, start: rv, bookmarks: opts.AllowWatchBookmarks, again: r.srv.faults.replayed(req)}
	initial, err := wa.begin(ctx, rv, opts)
	serve := func(ctx context.Context, out output) {
		switch {
		case out.begin() != nil: // the client hung up
		case err != nil:
			// After the server has accepted a watch, errors are ERROR events (watch-rv-too-old.http).
			_ = wa.write(ctx, f.status(nil, statusOf(err)))
		default:
			r.srv.faults.markOpen(wa.stream)
			if (initial == nil || wa.sendInitial(ctx, initial.items) == nil) && !over {
				wa.run(ctx, clock)
			}
		}
	}
	// A fault can reach the stream before the client has got an answer.
	if isWebSocket(req) {
		out := newMessages(f.contentType(true))
		wa.stream = r.srv.faults.open(out, t.res.ID(), spared(req))
		defer r.srv.faults.release(wa.stream)
		r.srv.faults.upgrade(w, req, out, serve)
		return nil
	}
	var out output = newBody(w)
	if withInitial && acceptsGzip(req) {
		out = gzipBody{newBody(w), newGzip(w)}
	}
	wa.stream = r.srv.faults.open(out, t.res.ID(), spared(req))
	defer r.srv.faults.release(wa.stream)
	w.Header().Set("Content-Type", f.contentType(true))
	w.WriteHeader(http.StatusOK)
	serve(ctx, out)
	return nil
}

// begin sets the position of the watch. If the watch begins with initial events, begin returns their objects.
func (wa *watch) begin(ctx context.Context, rv uint64, opts *internalversion.ListOptions) (*page, error) {
	r, s := wa.replica, wa.replica.srv.storage
	withInitial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if opts.SendInitialEvents != nil {
		want := rv
		if opts.ResourceVersion == "" {
			s.mu.RLock()
			want = s.rv // "most recent"
			s.mu.RUnlock()
		}
		if err := r.waitFor(ctx, want); err != nil {
			return nil, err
		}
	} else {
		s.mu.RLock()
	}
	defer s.mu.RUnlock()
	wa.restored = s.restored
	switch {
	case withInitial:
		wa.pos, wa.start = r.rv(), r.rv()
		return r.table(wa.table).page(wa.sel, wa.sel.prefix(), wa.pos, 0), nil
	case rv == 0:
		wa.pos, wa.start = r.rv(), r.rv() // no initial events: the watch begins with the current version
		return nil, nil
	}
	win := r.window(wa.table)
	if rv < win.floor {
		return nil, tooOld(rv, win.floor)
	}
	wa.rewind(win)
	return nil, nil
}

// sendInitial sends the initial events: one ADDED for each object, and the bookmark that ends them if the client has
// asked for bookmarks.
func (wa *watch) sendInitial(ctx context.Context, items []*revision) error {
	var b []byte
	for chunk := range slices.Chunk(items, watchBatch) {
		b = b[:0]
		for _, r := range chunk {
			b = wa.event(b, added, r)
		}
		if err := wa.write(ctx, b); err != nil {
			return err
		}
	}
	if !wa.bookmarks || wa.swallows(swallowInitialEventsEnd) {
		return nil
	}
	return wa.write(ctx, wa.format.bookmark(nil, wa.pos, true))
}

// run sends changes and bookmarks until the watch ends.
func (wa *watch) run(ctx context.Context, clock *watchClock) {
	s := wa.replica.srv.storage
	var b []byte
	bookmark := false
	for {
		s.mu.RLock()
		changed, restored := s.changed, s.restored != wa.restored
		batch, more, ok := wa.next()
		s.mu.RUnlock()
		if restored {
			_ = wa.stream.write(nil) // it ends as the fault says
			return
		}
		if !ok {
			return // the watch was too slow
		}
		b = wa.append(b[:0], batch)
		if bookmark && !more {
			bookmark = false
			if wa.pos > wa.start && !wa.swallows(swallowBookmarks) {
				b = wa.format.bookmark(b, wa.pos, false)
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
			clock.setPeriod(wa.replica.srv.faults.bookmarkPeriod())
			if wa.write(ctx, nil) != nil {
				return
			}
		case <-clock.bookmark.C:
			bookmark = true
			clock.nextBookmark()
		case <-clock.deadline:
			// A stalled watch must not end cleanly, because the client has to notice the stall by itself.
			_ = wa.stream.awaitResume(ctx, wa.replica.srv.done)
			return
		case <-ctx.Done():
			return
		case <-wa.replica.srv.done:
			return
		}
	}
}

// next takes up to watchBatch changes from the window and moves the position past them. ok is false if changes that
// this watch has not seen have left the window. more is true if further changes wait. The caller holds the lock.
func (wa *watch) next() (batch []change, more, ok bool) {
	win, rv := wa.replica.window(wa.table), wa.replica.rv()
	if wa.pos >= rv {
		return nil, false, true // nothing new, or a position in the future
	}
	if wa.pos < win.lost {
		return nil, false, false
	}
	i, _ := slices.BinarySearchFunc(win.log, wa.pos+1, func(c change, rv uint64) int {
		switch {
		case c.cur.rv < rv:
			return -1
		case c.cur.rv > rv:
			return 1
		}
		return 0
	})
	batch = win.log[i:]
	if len(batch) > watchBatch {
		batch, more = batch[:watchBatch], true
		wa.pos = batch[watchBatch-1].cur.rv
		return batch, more, true
	}
	wa.pos = rv
	return batch, false, true
}

// append encodes the changes that are for this watch. If an object leaves the selection, the event is DELETED with the
// last state that was selected. If an object enters the selection, the event is ADDED.
func (wa *watch) append(b []byte, batch []change) []byte {
	for _, c := range batch {
		if c.dropped && !wa.stream.spared {
			continue
		}
		if wa.sel.namespace != "" && c.cur.namespace != wa.sel.namespace {
			continue // this is fast, and true of most changes, so the selectors are not tried
		}
		before, after := wa.sel.matches(c.prev), wa.sel.matches(c.cur)
		switch {
		case before && after:
			b = wa.event(b, modified, c.cur)
		case after:
			b = wa.event(b, added, c.cur)
		case before && c.cur.deleted:
			b = wa.event(b, deleted, c.cur)
		case before:
			b = wa.event(b, deleted, c.prev.at(c.cur.rv))
		}
	}
	return b
}

// event appends one event. A fault may replace the object of the event.
func (wa *watch) event(b []byte, typ eventType, r *revision) []byte {
	if !wa.stream.spared {
		r = wa.replica.srv.faults.rewrite(wa.table.res, typ, r)
	}
	return wa.format.event(b, typ, r)
}

func (wa *watch) swallows(what string) bool {
	return !wa.stream.spared && wa.replica.srv.faults.swallows(what)
}

// write sends b in one piece. Faults may delay, cut or extend it.
func (wa *watch) write(ctx context.Context, b []byte) error {
	if err := wa.stream.awaitResume(ctx, wa.replica.srv.done); err != nil {
		return err
	}
	return wa.stream.write(b)
}
