package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/option"
	"github.com/relist-go/relist/object"
)

// RetryWatcher is a [Watch] that outlives its streams: when a stream ends, it opens
// the next one at the last resourceVersion it has seen.
//
// It delivers every event, and each event once, if the server keeps its promise to
// send all events after that version. It does not list, so it never reports objects
// from before its start. If the server no longer has the events after that version,
// the RetryWatcher ends with the server's 410, because no watch can deliver those
// events any more. A program that needs the present state of a resource uses a
// reflector.
//
// One goroutine reads it, as with any Watch. It has no goroutine of its own.
type RetryWatcher[T any] struct {
	lw     ListWatcher[T]
	opts   metav1.ListOptions // with the version to continue from
	retry  RetryOptions
	ctx    context.Context //nolint:containedctx // a Watch lives as long as the context it was opened with
	cancel context.CancelFunc

	opened time.Time     // when the last stream was requested
	base   time.Duration // of the next gap, without its random part: MinGap, doubled for each stream without an event; 0 after an event
	gap    time.Duration // from opened to the next request
	end    error         // what Next returns from now on

	unwatch func() bool // stops waiting for the end of ctx
	mu      sync.Mutex
	stream  Watch[T] // nil between two streams; Next sets it, and closeStream takes and closes it
}

// RetryOptions of a [RetryWatcher]. The zero value is ready.
type RetryOptions struct {
	// Bookmarks makes Next return bookmarks, too. If false, Next skips them. The
	// watcher asks for bookmarks in any case, because they keep its version recent
	// enough for the server while no object changes.
	Bookmarks bool

	// MinGap is the least time from one request to the next. It doubles, up to MaxGap,
	// with each stream that brings no event. A random part is added, which is at most
	// as long again. If zero, MinGap is 1 s and MaxGap 30 s. If negative, there is no
	// gap. If the server's Retry-After is longer, the watcher waits that long.
	MinGap, MaxGap time.Duration

	// Rand returns a number in [0, 1). If nil, math/rand/v2 is used.
	Rand func() float64
}

const (
	defaultMinGap = time.Second
	defaultMaxGap = 30 * time.Second
)

// errNoStart is the error for a RetryWatcher without a version to start from.
var errNoStart = errors.New(`resuming a watch needs the resourceVersion of a list or an event: from "" or "0" the server would send its present objects as ADDED, in no order, and would not report deletions`)

// NewRetryWatcher returns a watcher that starts at opts.ResourceVersion, the version
// of a list or of an earlier event. It refuses "" and "0" with an error. The
// first Next sends the first request. The watcher ends when ctx does.
func NewRetryWatcher[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions, retry RetryOptions) (*RetryWatcher[T], error) {
	if opts.ResourceVersion == "" || opts.ResourceVersion == "0" {
		return nil, fmt.Errorf("watch from resourceVersion %q: %w", opts.ResourceVersion, errNoStart)
	}
	retry.MinGap = option.Time(retry.MinGap, defaultMinGap)
	retry.MaxGap = max(option.Time(retry.MaxGap, defaultMaxGap), retry.MinGap)
	if retry.Rand == nil {
		retry.Rand = rand.Float64
	}
	opts.AllowWatchBookmarks = true
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // whoever takes the stream cancels
	w := &RetryWatcher[T]{lw: lw, opts: opts, retry: retry, ctx: ctx, cancel: cancel}
	w.unwatch = context.AfterFunc(ctx, w.closeStream)
	return w, nil
}

// Next implements [Watch]. It waits for an event, and opens new streams as long as
// none arrives. It returns an error if the server no longer has the next events
// (410), if the server refuses the request with another 4xx than 408 and 429, which
// repeating would not change, or if ctx has ended. After an error, every call
// returns the same error.
func (w *RetryWatcher[T]) Next() (Event[T], error) {
	for w.end == nil {
		stream, err := w.open()
		if err != nil {
			w.ended(err)
			continue
		}
		event, err := stream.Next()
		if err != nil {
			w.ended(err)
			continue
		}
		w.base = 0
		if w.accept(event) {
			return event, nil
		}
	}
	return Event[T]{}, w.end
}

// Close implements [Watch]. It closes the open stream. Any goroutine may call it,
// also more than once. A Next that is waiting returns.
func (w *RetryWatcher[T]) Close() error {
	w.unwatch()
	w.cancel()
	w.closeStream()
	return nil
}

// open returns the open stream. If there is none, it waits until the gap is over and
// opens one.
func (w *RetryWatcher[T]) open() (Watch[T], error) {
	w.mu.Lock()
	stream := w.stream
	w.mu.Unlock()
	if stream != nil {
		return stream, nil
	}
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	if !w.opened.IsZero() {
		if err := w.wait(time.Until(w.opened.Add(w.gap))); err != nil {
			return nil, err
		}
	}
	w.opened = time.Now()
	stream, err := w.lw.Watch(w.ctx, w.opts)
	if err != nil {
		return nil, err
	}
	return stream, w.hold(stream)
}

// hold stores a new stream, so that closeStream can close it. If ctx has ended, closeStream
// may have run already; hold then closes the stream itself and returns the error of
// ctx.
func (w *RetryWatcher[T]) hold(stream Watch[T]) error {
	w.mu.Lock()
	err := w.ctx.Err()
	if err == nil {
		w.stream = stream
	}
	w.mu.Unlock()
	if err != nil {
		_ = stream.Close()
	}
	return err
}

// closeStream closes the stream, if there is one. It closes each stream once.
func (w *RetryWatcher[T]) closeStream() {
	w.mu.Lock()
	stream := w.stream
	w.stream = nil
	w.mu.Unlock()
	if stream != nil {
		_ = stream.Close() // the stream is over, whatever Close returns
	}
}

func (w *RetryWatcher[T]) wait(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// accept records an event's version and reports whether Next returns the event. The
// recorded version never decreases, whatever the server sends.
func (w *RetryWatcher[T]) accept(event Event[T]) bool {
	version := event.Meta.ResourceVersion
	if object.Older(w.opts.ResourceVersion, version) || version != "" && !object.IsComparable(w.opts.ResourceVersion) {
		w.opts.ResourceVersion = version
	}
	return event.Type != object.Bookmark || w.retry.Bookmarks
}

// ended closes the stream, and decides whether to open another one, and when.
func (w *RetryWatcher[T]) ended(err error) {
	w.closeStream()
	if ctxErr := w.ctx.Err(); ctxErr != nil {
		w.end = ctxErr
		return
	}
	if !recoverable(err) {
		w.end = err
		_ = w.Close()
		return
	}
	w.base = min(max(2*w.base, w.retry.MinGap), w.retry.MaxGap)
	w.gap = w.base
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		w.gap = max(w.gap, time.Since(w.opened)+time.Duration(seconds)*time.Second)
	}
	w.gap += time.Duration(w.retry.Rand() * float64(w.base))
}

// recoverable reports whether the same request may succeed later.
func recoverable(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // the connection failed
	}
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return code < 400 || code >= 500
	}
}
