package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/internal/cli/web"
	"github.com/relist-go/relist/reflector"
)

// statusDesk answers requests for the status.
type statusDesk struct {
	flags  *statusFlags
	stderr io.Writer
	server *web.Server // nil without --status-listen
}

// open opens the address, so that the command fails at once if it is in use. Requests that come
// before serve wait.
func (f *statusFlags) open(ctx context.Context, stderr io.Writer) (*statusDesk, error) {
	d := &statusDesk{flags: f, stderr: stderr}
	if f.Listen == "" {
		return d, nil
	}
	var err error
	if d.server, err = web.Listen(ctx, f.Listen); err != nil {
		return nil, fmt.Errorf("%w; choose another address with --status-listen", err)
	}
	return d, nil
}

// serve starts to answer requests.
func (d *statusDesk) serve(r *mirrorRun) {
	if d.server == nil {
		return
	}
	cli.Complain(d.stderr, "status on %s/status\n", d.server.URL())
	d.server.Serve(web.Local(r.handler(), d.flags.Hosts), func(err error) { cli.Complain(d.stderr, "%s\n", cli.OneLine(err)) })
}

func (d *statusDesk) close() {
	if d.server != nil {
		d.server.Close()
	}
}

// statusReport is /status. What has not happened is left out.
type statusReport struct {
	Time    time.Time     `json:"time"`
	Server  string        `json:"server"`
	Healthy bool          `json:"healthy"`
	Reason  string        `json:"reason,omitempty"`  // why it is not
	Standby bool          `json:"standby,omitempty"` // another program writes
	Copies  []*copyStatus `json:"copies"`
}

type copyStatus struct {
	Resource string `json:"resource"`
	Table    string `json:"table"`
	Reason   string `json:"reason,omitempty"` // why it is not healthy

	CommittedVersion string    `json:"committedVersion,omitempty"`
	CommittedAt      time.Time `json:"committedAt,omitzero"`
	Unsure           []string  `json:"unsure"`
	MoreUnsure       int       `json:"moreUnsure"`
	Pending          int       `json:"pending"`
	LagSeconds       float64   `json:"lagSeconds"`
	Listed           int       `json:"listed,omitempty"`
	Changes          int64     `json:"changes"`
	Commits          int64     `json:"commits"`
	CommitFailures   int64     `json:"commitFailures"`
	CopyFailingSince time.Time `json:"copyFailingSince,omitzero"`
	CopyError        string    `json:"copyError,omitempty"`

	State            string    `json:"state"`
	Since            time.Time `json:"since,omitzero"`
	StalenessSeconds *float64  `json:"stalenessSeconds,omitempty"` // absent while nobody knows
	LastByte         time.Time `json:"lastByte,omitzero"`
	LastEvent        time.Time `json:"lastEvent,omitzero"`
	LastBookmark     time.Time `json:"lastBookmark,omitzero"`
	FailingSince     time.Time `json:"failingSince,omitzero"`
	LastError        string    `json:"lastError,omitempty"`
}

// status says how the copies are now.
func (r *mirrorRun) status(now time.Time) statusReport {
	s := statusReport{Time: now.UTC(), Server: r.server, Standby: r.waiting.Load()}
	for _, t := range r.targets {
		c := r.statusOf(t, now)
		if c.Reason != "" && s.Reason == "" && !s.Standby {
			s.Reason = t.label + ": " + c.Reason
		}
		s.Copies = append(s.Copies, c)
	}
	s.Healthy = s.Reason == ""
	return s
}

func (r *mirrorRun) statusOf(t *target, now time.Time) *copyStatus {
	s := t.mirror.Status()
	c := &copyStatus{
		Resource: t.label, Table: t.table,
		CommittedVersion: s.Committed.Point.Version, CommittedAt: s.CommittedAt.UTC(),
		Unsure:     append([]string{}, s.Committed.Point.Unsure...), // null would be a third case for who reads it
		MoreUnsure: s.Committed.Point.MoreUnsure,
		Pending:    s.Pending, LagSeconds: report.Seconds(s.Lag(now)), Listed: s.Listed,
		Changes: s.Changes, Commits: t.commits.Load(), CommitFailures: t.commitFailures.Load(),
		CopyFailingSince: s.FailingSince.UTC(),
		State:            s.Reflector.State.String(), Since: s.Reflector.Since.UTC(),
		LastByte: s.Reflector.LastByte.UTC(), LastEvent: s.Reflector.LastEvent.UTC(), LastBookmark: s.Reflector.LastBookmark.UTC(),
		FailingSince: s.Reflector.FailingSince.UTC(),
	}
	if s.Err != nil {
		c.CopyError = s.Err.Error()
	}
	if s.Reflector.LastError != nil {
		c.LastError = s.Reflector.LastError.Error()
	}
	stale := staleness(s.Reflector, s.FailingSince, s.Lag(now), now)
	if !s.Reflector.Started.IsZero() || !s.FailingSince.IsZero() { // a copy that waits for others, or for another program, has neither
		c.StalenessSeconds = new(report.Seconds(stale))
	}
	limit := r.flags.status.MaxStaleness
	switch {
	case s.Committed.Epoch == 0:
		c.Reason = "the copy is not open; all copies are opened together"
		if c.CopyError != "" {
			c.Reason = "the copy is not open: " + c.CopyError
		}
	case c.CommittedVersion == "" && c.CopyError != "" && !s.FailingSince.IsZero():
		c.Reason = "the first copy is not whole: " + c.CopyError
	case c.CommittedVersion == "":
		c.Reason = "the first copy is not whole"
		if c.LastError != "" {
			c.Reason += ": " + c.LastError
		}
	case limit > 0 && stale > limit:
		c.Reason = fmt.Sprintf("the rows are %s old, more than %s", report.Short(stale.Seconds()), limit)
		if !s.FailingSince.IsZero() {
			c.Reason += ": " + c.CopyError
		} else if c.LastError != "" && !s.Reflector.FailingSince.IsZero() {
			c.Reason += ": " + c.LastError
		}
	}
	return c
}

// staleness is how long ago the rows were last known to be what the server has.
func staleness(r reflector.Status, failing time.Time, lag time.Duration, now time.Time) time.Duration {
	stale := lag
	if !r.Started.IsZero() {
		stale = max(stale, r.Staleness(now))
	}
	if !failing.IsZero() {
		stale = max(stale, now.Sub(failing))
	}
	return stale
}

func (r *mirrorRun) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { web.WriteJSON(w, r.status(time.Now())) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { r.check(w, r.status(time.Now()).Reason) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range r.status(time.Now()).Copies {
			if c.CommittedVersion == "" && !r.waiting.Load() {
				r.check(w, c.Resource+": "+c.Reason)
				return
			}
		}
		r.check(w, "")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{}))
	return mux
}

// check answers a probe; an empty reason is success. A program that waits for its turn is well.
func (r *mirrorRun) check(w http.ResponseWriter, reason string) {
	well := "ok"
	if r.waiting.Load() {
		well = "ok: waiting until no other program writes"
	}
	web.WriteCheck(w, reason, well)
}
