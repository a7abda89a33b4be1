package main

import (
	"context"
	"log/slog"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/protocol"
)

// awayLog turns those lines of the log into lines on stderr that say that requests for a target
// fail, and that they work again. So [reflector.LogTrace] has the rules when to say so: once for an
// outage and each further reason, and not if a single watch was cut. The rest of the log is told in
// other ways.
type awayLog struct {
	run  *mirrorRun
	of   *target
	told bool // that requests fail; the goroutine of the reflector has it
}

// Enabled implements [slog.Handler].
func (a *awayLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// WithAttrs implements [slog.Handler].
func (a *awayLog) WithAttrs([]slog.Attr) slog.Handler { return a }

// WithGroup implements [slog.Handler].
func (a *awayLog) WithGroup(string) slog.Handler { return a }

// Handle implements [slog.Handler].
func (a *awayLog) Handle(_ context.Context, line slog.Record) error {
	has := map[string]slog.Value{}
	line.Attrs(func(attr slog.Attr) bool {
		has[attr.Key] = attr.Value
		return true
	})
	switch line.Message {
	case "relist: failing", "relist: failing again", "relist: still failing":
		reason := has["reason"].String()
		err, _ := has["error"].Any().(error)
		switch {
		case reason == protocol.SinkFailed.String(): // the mirror tells it
		case a.of.fatal(err): // the command ends with it
		case a.told:
			a.run.warn(a.of, "still cannot be read from %s (%s)%s", a.run.server, reason, because(err))
		default:
			a.told = true
			a.run.warn(a.of, "cannot be read from %s (%s), and is tried again until it can; %s%s", a.run.server, reason, a.of.rows(), because(err))
		}
	case "relist: verification failed":
		err, _ := has["error"].Any().(error)
		a.run.warn(a.of, "cannot be compared with the server, and is tried again after --verify%s", because(err))
	case "relist: verification works again":
		a.run.warn(a.of, "is compared with the server again")
	case "relist: recovered":
		if a.told {
			a.run.warn(a.of, "is read again, after %s", span(has["after"].Duration()))
		}
		a.told = false
	}
	return nil
}

// rows says what the rows are while the server is away.
func (t *target) rows() string {
	if version, _ := t.committed.Load().(string); version != "" {
		return "the rows stay as at " + report.Word(version)
	}
	return "some rows may be missing"
}
