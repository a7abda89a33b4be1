package reflector

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/relist-go/relist/internal/visible"
	"github.com/relist-go/relist/protocol"
)

// LogTrace returns a Trace that writes to logger what the reflector does. If logger is nil, each
// line goes to slog.Default().
//
//   - Warn: a problem, once for each state and not once for each attempt. If a server is away for an hour, there is one line
//     when the failures begin ("relist: failing"), one for each further [Reason] ("relist: still failing"), and one when a watch
//     is open again ("relist: recovered"), which says how long it took. An API server may accept a watch, and then say that the
//     version is gone. So if no list has come since the failures began, "relist: recovered" waits for the first event or
//     bookmark of the watch, or for its end after 10 seconds. If a watch fails within 10 seconds, and "relist: recovered" was
//     told, the next line is "relist: failing again", and from then on only a watch that has been open for 10 seconds ends the
//     problem. The attributes "for" and "after" count from the line "relist: failing", so after "relist: failing again" they
//     include the time in which a watch was open. An object has one line when it comes into quarantine, and another one when it
//     comes out. At most ten objects are named at a time. For some problems, such as a missing resourceVersion, the log cannot
//     tell when they end. It logs these at most once an hour.
//   - Info: a list that the sink has got, with its reason ("first", or the [Reason] of the relist), the number of objects, and
//     the time that it took.
//   - Debug: everything else.
//
// Each line has the attributes "resource" and "namespace", as far as the ListWatcher says them: see
// [source.ScopeOf].
//
// Names, versions and error texts may come from a server. LogTrace replaces their line breaks by
// spaces, and their invisible characters by Go escapes such as \x1b. So no name can forge a line or
// control a terminal, whatever handler the logger has. The value of the attribute "error" is an
// error that wraps the original one.
//
// The Trace remembers what it has logged, so each reflector needs its own.
func LogTrace(logger *slog.Logger) *Trace {
	l := &traceLog{logger: logger}
	return &Trace{
		RunStart:   l.runStart,
		ListStart:  l.listStart,
		ListDone:   l.listDone,
		WatchStart: l.watchStart,
		WatchOpen:  func() { l.log(slog.LevelDebug, "relist: watch is open") },
		Event:      l.event,
		Bookmark:   l.bookmark,
		WatchEnd:   l.watchEnd,
		Relist:     l.relist,
		Backoff:    l.backoff,
		Recovered:  l.recovered,
		Synced:     func() { l.log(slog.LevelDebug, "relist: synced") },
		Verified:   l.verified,
		Problem:    l.problem,
		Released:   l.released,
	}
}

const (
	maxNamed = 10        // at most this number of objects in quarantine is named at a time
	rarely   = time.Hour // between two lines about a problem that has no end
)

// traceLog is what LogTrace remembers.
type traceLog struct {
	logger *slog.Logger
	scope  []slog.Attr // of every line

	// Of lists: whether there was one, and why the next one comes.
	listed bool
	reason Reason

	quarantined map[string]time.Time // the objects in quarantine that were named, by key, and when they were

	told          map[ProblemClass]time.Time // when a problem without an end was logged last
	unverified    time.Time                  // since when verifications have failed
	drift         Problem                    // the first difference of a verification
	driftsPending bool                       // drift is set
}

// log writes a line. Callers on the path of events ask enabled first.
func (l *traceLog) log(level slog.Level, message string, attrs ...slog.Attr) {
	logger := l.current()
	if !logger.Enabled(context.Background(), level) {
		return
	}
	logger.LogAttrs(context.Background(), level, message, append(slices.Clip(l.scope), attrs...)...)
}

func (l *traceLog) current() *slog.Logger {
	return cmp.Or(l.logger, slog.Default())
}

func (l *traceLog) runStart(e RunStart) {
	l.scope = nil
	if e.Resource != "" {
		l.scope = append(l.scope, quoted("resource", e.Resource))
	}
	if e.Namespace != "" {
		l.scope = append(l.scope, quoted("namespace", e.Namespace))
	}
}

func (l *traceLog) listStart(e ListStart) {
	l.log(slog.LevelDebug, "relist: list", quoted("resourceVersion", e.ResourceVersion), slog.Int64("limit", e.Limit))
}

func (l *traceLog) listDone(e ListDone) {
	if e.Err != nil {
		l.log(slog.LevelDebug, "relist: list failed", took(e.Duration), failure(e.Err))
		return
	}
	reason := "first"
	switch {
	case l.reason != 0:
		reason = l.reason.String()
	case l.listed:
		reason = protocol.RelistRequested.String() // Relist was called during a list, and another list follows
	}
	l.listed, l.reason = true, 0
	l.log(slog.LevelInfo, "relist: listed", slog.String("reason", reason), slog.Int("objects", e.Items), took(e.Duration),
		quoted("resourceVersion", e.ResourceVersion))
}

func (l *traceLog) watchStart(e WatchStart) {
	l.log(slog.LevelDebug, "relist: watch", quoted("resourceVersion", e.ResourceVersion), slog.Duration("timeout", e.Timeout),
		slog.Bool("initial", e.Initial))
}

func (l *traceLog) event(e Event) {
	if l.current().Enabled(context.Background(), slog.LevelDebug) {
		l.log(slog.LevelDebug, "relist: event", slog.String("type", e.Type.String()), quoted("key", e.Key),
			quoted("resourceVersion", e.ResourceVersion))
	}
}

func (l *traceLog) bookmark(resourceVersion string) {
	l.log(slog.LevelDebug, "relist: bookmark", quoted("resourceVersion", resourceVersion))
}

func (l *traceLog) watchEnd(e WatchEnd) {
	l.log(slog.LevelDebug, "relist: watch has ended", slog.String("reason", e.Reason.String()), slog.Int("events", e.Events),
		took(e.Duration), failure(e.Err))
}

func (l *traceLog) relist(e Relist) {
	l.reason = e.Reason
	level, message := slog.LevelDebug, "relist: lists again"
	if e.Reason == protocol.Incomplete {
		level, message = slog.LevelWarn, "relist: initial events failed, so it lists for an hour"
	}
	l.log(level, message, slog.String("reason", e.Reason.String()), quoted("resourceVersion", e.ResourceVersion), failure(e.Err))
}

var backoffLines = map[protocol.News]string{
	protocol.Fails: "relist: failing", protocol.StillFails: "relist: still failing", protocol.FailsAgain: "relist: failing again",
}

func (l *traceLog) backoff(e Backoff) {
	attrs := []slog.Attr{slog.String("reason", e.Reason.String()), failure(e.Err), duration("delay", e.Delay)}
	if e.News == protocol.NoNews {
		l.log(slog.LevelDebug, "relist: delay", attrs...)
		return
	}
	if e.Outage > 0 {
		attrs = append(attrs, duration("for", e.Outage))
	}
	l.log(slog.LevelWarn, backoffLines[e.News], attrs...)
}

func (l *traceLog) recovered(e Recovered) {
	l.log(slog.LevelWarn, "relist: recovered", duration("after", e.After), slog.Int("delays", e.Delays))
}

func (l *traceLog) verified(e Verified) {
	if now := logNow(); !l.unverified.IsZero() {
		l.log(slog.LevelWarn, "relist: verification works again", duration("after", now.Sub(l.unverified)))
		l.unverified = time.Time{}
	}
	attrs := []slog.Attr{slog.Int("objects", e.Objects), slog.Int("differences", e.Differences), took(e.Duration)}
	if !l.driftsPending {
		l.log(slog.LevelDebug, "relist: verified", attrs...)
		return
	}
	attrs = append(attrs, quoted("key", l.drift.Key), failure(l.drift.Err))
	l.drift, l.driftsPending = Problem{}, false
	l.log(slog.LevelWarn, "relist: the copy differed from the server", attrs...)
}

func (l *traceLog) problem(p Problem) {
	level, message := slog.LevelDebug, "relist: problem" // a problem of a list, a watch or the sink is followed by a delay, and the line of the delay reports it
	now := logNow()
	switch {
	case errors.Is(p.Err, protocol.ErrVerification):
		if l.unverified.IsZero() {
			level, message, l.unverified = slog.LevelWarn, "relist: verification failed", now
		}
	case p.Class == protocol.DriftProblem:
		if !l.driftsPending {
			l.drift, l.driftsPending = p, true
		}
	case (p.Class == protocol.ObjectProblem || p.Class == protocol.SinkProblem) && p.Key != "":
		switch named, more := l.quarantine(now, p.Key); {
		case named:
			level, message = slog.LevelWarn, "relist: object in quarantine"
		case more && l.isRare(now, p.Class):
			level, message = slog.LevelWarn, "relist: more objects in quarantine"
		}
	case (p.Class == protocol.ObjectProblem || p.Class == protocol.VersionProblem) && l.isRare(now, p.Class):
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("class", p.Class.String()), failure(p.Err)}
	if p.Key != "" {
		attrs = slices.Insert(attrs, 1, quoted("key", p.Key))
	}
	l.log(level, message, attrs...)
}

// quarantine records an object that came into quarantine. named says that a line is to name the
// object. more says that there is no room for its name.
func (l *traceLog) quarantine(now time.Time, key string) (named, more bool) {
	if _, known := l.quarantined[key]; known {
		return false, false
	}
	if len(l.quarantined) >= maxNamed {
		return false, true
	}
	if l.quarantined == nil {
		l.quarantined = map[string]time.Time{}
	}
	l.quarantined[key] = now
	return true, false
}

func (l *traceLog) released(key string) {
	since, named := l.quarantined[key]
	if !named {
		l.log(slog.LevelDebug, "relist: object out of quarantine", quoted("key", key))
		return
	}
	delete(l.quarantined, key)
	l.log(slog.LevelWarn, "relist: object out of quarantine", quoted("key", key), duration("after", logNow().Sub(since)))
}

// isRare reports whether a problem without an end is to be logged, and records that.
func (l *traceLog) isRare(now time.Time, class ProblemClass) bool {
	if at, ok := l.told[class]; ok && now.Sub(at) < rarely {
		return false
	}
	if l.told == nil {
		l.told = map[ProblemClass]time.Time{}
	}
	l.told[class] = now
	return true
}

// logNow reads the clock for the log, which decides nothing.
func logNow() time.Time {
	return time.Now() //nolint:forbidigo // the log says how long things took, and nothing depends on it
}

func quoted(key, text string) slog.Attr { return slog.String(key, visible.OneLine(text)) }

func took(d time.Duration) slog.Attr { return duration("took", d) }

// duration is rounded, because nanoseconds say nothing to a reader.
func duration(key string, d time.Duration) slog.Attr {
	return slog.Duration(key, d.Round(time.Millisecond))
}

// failure is the attribute of an error, or an empty one, which handlers leave out: the end of a
// stream is no error, and has a reason.
func failure(err error) slog.Attr {
	if err == nil || err == io.EOF { //nolint:errorlint // only the bare one is a clean end
		return slog.Attr{}
	}
	return slog.Any("error", visibleError{err})
}

// visibleError is an error whose text is safe to show.
type visibleError struct{ error }

func (e visibleError) Error() string { return visible.OneLine(e.error.Error()) }

func (e visibleError) Unwrap() error { return e.error }
