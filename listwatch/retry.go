package listwatch

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
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// RetryWatcher is a [Watch] that outlives its streams: where one ends, it opens
// the next at the last resourceVersion it has seen.
//
// It promises that no event is left out, and none given twice, as far as the
// server keeps its own promise to send what comes after that version. It does not
// list: it never says what existed before it began, and once the server has
// forgotten where it stood, it ends, with the 410 that says so. What happened in
// between is not to be had from a watch any more. A program that wants the
// present state of a resource needs a reflector.
//
// Like any Watch it is read by one goroutine, and has none of its own.
type RetryWatcher[T any] struct {
	lw     ListWatcher[T]
	opts   metav1.ListOptions // with the version to go on from
	retry  RetryOptions
	ctx    context.Context //nolint:containedctx // a Watch lives as long as the context it was opened with
	cancel context.CancelFunc

	opened time.Time     // when a stream was last asked for
	base   time.Duration // of the gap that follows: MinGap, doubled; 0 after an event
	gap    time.Duration // from opened to the next request
	end    error         // what Next returns from now on

	unwatch func() bool // ends the wait for the end of ctx
	mu      sync.Mutex
	stream  Watch[T] // nil between two streams; Next puts it here, and whoever takes it closes it
}

// RetryOptions of a [RetryWatcher]. The zero value is ready.
type RetryOptions struct {
	// Bookmarks passes bookmarks on. They are asked for in any case, and keep
	// the watcher's version in the server's window while nothing changes. If
	// false, they are hidden.
	Bookmarks bool

	// MinGap is the least time from one request to the next. It doubles, up to
	// MaxGap, with each stream that brings nothing, and up to its own length is
	// added at random. If zero, 1 s and 30 s. If negative, there is none.
	// Retry-After is obeyed on top of it.
	MinGap, MaxGap time.Duration

	// Rand returns a number in [0, 1). If nil, math/rand/v2 is used.
	Rand func() float64
}

const (
	defaultMinGap = time.Second
	defaultMaxGap = 30 * time.Second
)

// ErrNoStart is the error for a RetryWatcher without a version to start from.
var ErrNoStart = errors.New(`a watch that is to be resumed needs the resourceVersion of a list: from "" or "0" the server sends its present objects as ADDED, in no order and without what was deleted`)

// NewRetryWatcher returns a watcher that goes on from opts.ResourceVersion, which
// is the version of a list or of an earlier event. It refuses "" and "0" with
// [ErrNoStart]. No request is sent before the first Next. The watcher ends when
// ctx does.
func NewRetryWatcher[T any](ctx context.Context, lw ListWatcher[T], opts metav1.ListOptions, retry RetryOptions) (*RetryWatcher[T], error) {
	if opts.ResourceVersion == "" || opts.ResourceVersion == "0" {
		return nil, fmt.Errorf("watch from resourceVersion %q: %w", opts.ResourceVersion, ErrNoStart)
	}
	retry.MinGap = gapOrDefault(retry.MinGap, defaultMinGap)
	retry.MaxGap = max(gapOrDefault(retry.MaxGap, defaultMaxGap), retry.MinGap)
	if retry.Rand == nil {
		retry.Rand = rand.Float64
	}
	opts.AllowWatchBookmarks = true
	ctx, cancel := context.WithCancel(ctx)
	w := &RetryWatcher[T]{lw: lw, opts: opts, retry: retry, ctx: ctx, cancel: cancel}
	w.unwatch = context.AfterFunc(ctx, w.hangUp)
	return w, nil
}

func gapOrDefault(value, byDefault time.Duration) time.Duration {
	if value == 0 {
		return byDefault
	}
	return max(value, 0)
}

// ResourceVersion returns the version that the watcher would go on from.
func (w *RetryWatcher[T]) ResourceVersion() string { return w.opts.ResourceVersion }

// Next implements [Watch]. It waits for an event through as many streams as it
// takes. It returns an error when the server has forgotten the events that come
// next (410), refuses the request in a way that repeating does not change (any
// other 4xx but 408 and 429), or when ctx has ended. The error stays.
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

// Close implements [Watch]. It closes the stream that is open. It may be called from
// any goroutine and more than once; a Next that is waiting returns.
func (w *RetryWatcher[T]) Close() error {
	w.unwatch()
	w.cancel()
	w.hangUp()
	return nil
}

// open returns the stream that there is, or opens one, not too soon after the one
// before.
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

// hold keeps a new stream for hangUp. Where that has had its turn already, it closes
// the stream and returns why.
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

// hangUp closes the stream, if there is one. Each is closed once.
func (w *RetryWatcher[T]) hangUp() {
	w.mu.Lock()
	stream := w.stream
	w.stream = nil
	w.mu.Unlock()
	if stream != nil {
		_ = stream.Close() // it is over, whatever it says
	}
}

func (w *RetryWatcher[T]) wait(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// accept takes note of an event's version and reports whether to pass the event
// on. The version never goes back, whatever the server says.
func (w *RetryWatcher[T]) accept(event Event[T]) bool {
	version := event.Meta.ResourceVersion
	order, err := resourceversion.CompareResourceVersion(version, w.opts.ResourceVersion)
	if err == nil && order > 0 || version != "" && !isNumber(w.opts.ResourceVersion) {
		w.opts.ResourceVersion = version
	}
	return event.Type != Bookmark || w.retry.Bookmarks
}

func isNumber(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// ended closes the stream that there was, and decides whether there will be
// another, and when.
func (w *RetryWatcher[T]) ended(err error) {
	w.hangUp()
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

// recoverable reports whether the same request may well succeed later.
func recoverable(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // the connection, in one way or another
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
