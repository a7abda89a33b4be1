package simulation

import (
	"context"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	relistobject "github.com/relist-go/relist/object"
)

// stream is one watch of a server.
type stream struct {
	*server
	ctx context.Context //nolint:containedctx // of the call whose stream it is
	plan

	at      uint64 // what was sent
	queue   []source.Event[*object]
	opened  time.Time
	marked  time.Time // when a bookmark was due last
	timeout time.Duration
	sent    int
}

// begin prepares what comes before the changes.
func (st *stream) begin(opts metav1.ListOptions) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.queue = append(st.queue, st.lead...)
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	switch {
	case initial, st.at == 0:
		st.at = st.version()
		for _, obj := range st.truth.at(st.at) {
			st.queue = append(st.queue, eventOf(change{typ: relistobject.Added, obj: obj}))
		}
		if initial && !st.unending {
			end := bookmarks(format(st.at))[0]
			end.InitialEventsEnd = !st.unmarked
			if st.anonymous {
				end.Meta.ResourceVersion = ""
			}
			st.queue = append(st.queue, end)
		}
		if st.unending {
			st.silent = true
		}
	case st.at < st.floor:
		return refusals[st.at%3].err
	case st.replays > 0:
		from := max(birth, st.at-min(st.replays, st.at-birth))
		for _, c := range st.log[from-birth : max(from, min(st.at, st.version()))-birth] {
			st.queue = append(st.queue, eventOf(c))
		}
	}
	return nil
}

func eventOf(c change) source.Event[*object] {
	e := source.Event[*object]{Type: c.typ, Object: c.obj, Meta: c.obj.meta()}
	if c.obj.ill() {
		e.Object, e.Err = nil, &source.ObjectError{Meta: e.Meta, Err: errIll}
	}
	return e
}

// Next implements source.Watch.
func (st *stream) Next() (source.Event[*object], error) {
	for {
		if err := st.ctx.Err(); err != nil {
			return source.Event[*object]{}, err
		}
		e, ok, changed := st.next()
		if ok {
			return e, nil
		}
		until, end := st.due()
		if end != nil && !time.Now().Before(until) {
			return source.Event[*object]{}, end
		}
		if err := st.wait(changed, until); err != nil {
			return source.Event[*object]{}, err
		}
	}
}

// next returns the event to send now, if there is one, and what to wait for.
func (st *stream) next() (source.Event[*object], bool, <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err != nil && (st.events > 0 && st.sent >= st.events || st.events == 0 && st.after == 0) {
		st.events, st.after = 0, 0
		return source.Event[*object]{}, false, nil
	}
	var e source.Event[*object]
	c, more := st.truth.after(st.at)
	switch {
	case len(st.queue) > 0:
		e, st.queue = st.queue[0], st.queue[1:]
	case st.silent:
		return e, false, nil
	case more:
		st.at++
		e = eventOf(c)
	case st.marks > 0 && time.Since(st.marked) >= st.marks && st.at <= st.version():
		st.marked = time.Now()
		e = bookmarks(format(st.at))[0]
	default:
		return e, false, st.changed
	}
	st.sent++
	st.lock.Lock()
	st.server.sent++
	st.lock.Unlock()
	return e, true, nil
}

// due returns when the stream has something to do, or is over, and then how.
func (st *stream) due() (until time.Time, end error) {
	switch {
	case st.err != nil && st.after == 0 && st.events == 0:
		return st.opened, st.err
	case st.silent && st.err == nil:
		return never, nil
	}
	until, end = never, nil
	if st.timeout > 0 {
		until, end = st.opened.Add(st.timeout), io.EOF
	}
	if at := st.opened.Add(st.after); st.err != nil && st.after > 0 && at.Before(until) {
		until, end = at, st.err
	}
	if at := st.marked.Add(st.marks); st.marks > 0 && !st.silent && at.Before(until) {
		return at, nil
	}
	return until, end
}

func (st *stream) wait(changed <-chan struct{}, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-st.ctx.Done():
		return st.ctx.Err()
	}
	return nil
}

// Close implements source.Watch.
func (*stream) Close() error { return nil }
