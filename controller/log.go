package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/internal/writes"
)

const (
	// A server that is away lets every key fail. In any period, this many failures have a line of
	// their own.
	maxNamed    = 10
	namedPeriod = time.Minute

	// A cache that is a moment behind the server causes a write that the server refuses, and the
	// next attempts come within seconds. Only this many in succession are a problem.
	manyBehind = 10

	classPanic = "panic"
)

// failureLog tells of a key that fails once for each state of the key, and not once for each
// attempt: when it begins to fail, for each further class of errors, and when it has recovered. The
// attempts between are told at Debug, and so is a write that is refused because the cache was
// behind, unless that lasts.
type failureLog struct {
	logger *slog.Logger

	mu     sync.Mutex
	keys   map[string]*failingKey
	period time.Time // when the present period began
	named  int       // how many failures were told in it
}

// failingKey is what was told of a key.
type failingKey struct {
	since time.Time
	told  []string // the classes of its errors that had a line
}

// classOf says which errors have the same line. It is coarse, because the text of an error may
// differ with each attempt.
func classOf(err error) string {
	if _, ok := errors.AsType[*PanicError](err); ok {
		return classPanic
	}
	if isTerminal(err) {
		return "terminal"
	}
	return string(apierrors.ReasonForError(err)) // "" if it is no answer of an API server
}

// isBehind reports whether a write was refused as one that begins from an old state is: the object
// has changed, has come, or has gone.
func isBehind(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// failed tells of an attempt that has failed.
func (l *failureLog) failed(ctx context.Context, r *Reconciled) {
	level, since, more := slog.LevelDebug, time.Duration(0), false
	if !isBehind(r.Err) || r.Failures >= manyBehind || isTerminal(r.Err) {
		level, since, more = l.record(r.Key, classOf(r.Err))
	}
	message := "relist: reconcile failed"
	attrs := []slog.Attr{slog.String("key", r.Key), slog.Any("error", r.Err), slog.Int("failures", r.Failures), slog.Duration("next", r.Next)}
	if since > 0 {
		attrs = append(attrs, slog.Duration("for", since.Round(time.Millisecond)))
	}
	if panicked, ok := errors.AsType[*PanicError](r.Err); ok {
		message = "relist: reconcile panicked"
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
		if level == slog.LevelWarn {
			level = slog.LevelError
		}
	}
	l.tell(ctx, level, more, message, attrs...)
}

// tell writes a line, and another one if more is true, as record says.
func (l *failureLog) tell(ctx context.Context, level slog.Level, more bool, message string, attrs ...slog.Attr) {
	l.logger.LogAttrs(ctx, level, message, attrs...)
	if more {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "relist: reconcile failed for more keys", slog.Int("named", maxNamed), slog.Duration("in", namedPeriod))
	}
}

// record returns the level of the line, and for how long the key has failed. more is true for the
// first failure of a period that has no line although it should.
func (l *failureLog) record(key, class string) (level slog.Level, since time.Duration, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	f := l.keys[key]
	if f == nil {
		if l.keys == nil {
			l.keys = map[string]*failingKey{}
		}
		f = &failingKey{since: now}
		l.keys[key] = f
	}
	since = now.Sub(f.since)
	if slices.Contains(f.told, class) {
		return slog.LevelDebug, since, false
	}
	if now.Sub(l.period) >= namedPeriod {
		l.period, l.named = now, 0
	}
	l.named++
	if l.named > maxNamed { // a later attempt has the line, if the key continues failing
		return slog.LevelDebug, since, l.named == maxNamed+1
	}
	f.told = append(f.told, class)
	return slog.LevelWarn, since, false
}

// forget drops what was told, because another process may have cured the keys.
func (l *failureLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = nil
}

// succeeded tells that a key has recovered, if a line said that it fails.
func (l *failureLog) succeeded(ctx context.Context, key string, failures int) {
	l.mu.Lock()
	f := l.keys[key]
	delete(l.keys, key)
	if len(l.keys) == 0 {
		l.keys = nil // maps do not shrink
	}
	l.mu.Unlock()
	if f != nil && f.told != nil {
		attrs := []slog.Attr{slog.String("key", key), slog.Duration("after", time.Since(f.since).Round(time.Millisecond))}
		if failures > 0 { // otherwise the key has only waited
			attrs = append(attrs, slog.Int("failures", failures))
		}
		l.logger.LogAttrs(ctx, slog.LevelWarn, "relist: reconcile recovered", attrs...)
	}
}

// during calls a function that waits for a cache, and tells of it if that takes long. The end is
// told as a recovery of the key, which is empty if all keys wait. late counts what was told and has
// not ended, because a key may wait for several caches at once.
func (c *running) during(ctx context.Context, cache writes.Cache, key string, late *atomic.Int32, wait func()) {
	done := make(chan bool, 1) // whether ctx has not ended the wait
	defer func() { done <- ctx.Err() == nil }()
	c.holding.Go(func() {
		goexit.Run(func() error {
			select {
			case <-time.After(waitReport):
				late.Add(1)
				level, _, more := c.failures.record(key, "waits for "+cache.Name())
				attrs := []slog.Attr{slog.String("key", key), slog.String("cache", cache.Name())}
				if err := cache.Failing(); err != nil { // otherwise its watch is slow
					attrs = append(attrs, slog.Any("error", err))
				}
				c.failures.tell(ctx, level, more, "relist: reconcile waits for a cache", attrs...)
				if <-done && late.Add(-1) == 0 && c.queue.Failures(key) == 0 {
					c.failures.succeeded(ctx, key, 0)
				}
			case <-done:
			}
			return nil
		}, func(err error) {
			if err != nil {
				c.fail(fmt.Errorf("controller: the Logger: %w", err))
			}
		})
	})
	wait()
}
