// Package status says how fresh a mirror is: as text for a person, as JSON, and as
// health checks over HTTP.
//
// A View takes a Status of a mirror; Handler and Status.Text show it.
//
// Begin with Status.
package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/reflector"
)

// Status is how a mirror stands at a moment. What has not happened is left out of the
// JSON.
type Status struct {
	Time     time.Time `json:"time"`
	Resource string    `json:"resource"`
	Server   string    `json:"server"`

	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason,omitempty"` // why it is not

	State   string    `json:"state"` // stopped, listing, opening, watching, waiting
	Since   time.Time `json:"since,omitzero"`
	Synced  bool      `json:"synced"`  // the first list has been applied
	Objects int       `json:"objects"` // in the copy
	Pending int       `json:"pending"` // objects with changes that have come and are not applied yet

	// ResourceVersion is the resume version: everything up to it has come.
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// StalenessSeconds is how long ago the copy was last known to be whole: until the first
	// list, since the mirror started. It is nil before that.
	StalenessSeconds    *float64 `json:"stalenessSeconds,omitempty"`
	MaxStalenessSeconds float64  `json:"maxStalenessSeconds,omitzero"`

	LastByte     time.Time `json:"lastByte,omitzero"`
	LastEvent    time.Time `json:"lastEvent,omitzero"`
	LastBookmark time.Time `json:"lastBookmark,omitzero"`

	FailingSince  time.Time `json:"failingSince,omitzero"` // left out while a watch is open
	LastError     string    `json:"lastError,omitempty"`   // also when it is long over
	LastErrorTime time.Time `json:"lastErrorTime,omitzero"`
	NextRetry     time.Time `json:"nextRetry,omitzero"` // in the state waiting

	cause string // of LastError, for people: lastError

	Quarantined []Quarantined `json:"quarantined"` // by key
}

// Quarantined is an object of which the copy lacks the present version.
type Quarantined struct {
	Key             string    `json:"key"`
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"` // the one that could not be used
	Since           time.Time `json:"since"`
	NextTry         time.Time `json:"nextTry,omitzero"`
	Error           string    `json:"error"`
}

// View is what a Status is taken of.
type View struct {
	Mirror   *mirror.Mirror
	Resource string
	Server   string

	// MaxStaleness is from when on the copy is too old to be healthy. If zero, it
	// never is.
	MaxStaleness time.Duration
}

// Now returns the status at this moment. It may be called from any goroutine.
func (v *View) Now() Status {
	s := v.of(v.Mirror.Status(), time.Now())
	s.Objects, s.Pending = v.Mirror.Store().Len(), v.Mirror.Pending()
	return s
}

// of is what can be said without the copy.
func (v *View) of(r reflector.Status, now time.Time) Status {
	s := Status{
		Time:                now.UTC(),
		Resource:            v.Resource,
		Server:              v.Server,
		Reason:              v.problem(r, now),
		State:               r.State.String(),
		Since:               r.Since.UTC(),
		Synced:              r.Synced,
		ResourceVersion:     r.ResourceVersion,
		MaxStalenessSeconds: report.Seconds(v.MaxStaleness),
		LastByte:            r.LastByte.UTC(),
		LastEvent:           r.LastEvent.UTC(),
		LastBookmark:        r.LastBookmark.UTC(),
		FailingSince:        r.FailingSince.UTC(),
		LastErrorTime:       r.LastErrorTime.UTC(),
		NextRetry:           r.NextRetry.UTC(),
		Quarantined:         []Quarantined{}, // null would be a third case for who reads it
	}
	s.Healthy = s.Reason == ""
	if !r.Started.IsZero() {
		s.StalenessSeconds = new(report.Seconds(r.Staleness(now)))
	}
	if r.LastError != nil {
		s.LastError, s.cause = r.LastError.Error(), lastError(r)
	}
	for _, q := range r.Quarantined {
		s.Quarantined = append(s.Quarantined, quarantined(q))
	}
	return s
}

func quarantined(q reflector.Quarantined) Quarantined {
	one := Quarantined{
		Key:             q.Meta.Key,
		UID:             q.Meta.UID,
		ResourceVersion: q.Meta.ResourceVersion,
		Since:           q.Since.UTC(),
		NextTry:         q.NextTry.UTC(),
	}
	if q.Err != nil {
		one.Error = q.Err.Error()
	}
	return one
}

// problem says why a mirror is not healthy; it is empty if it is.
func (v *View) problem(r reflector.Status, now time.Time) string {
	switch {
	case !r.Synced:
		return "the first list has not been applied" + lastError(r)
	case r.State == reflector.Stopped:
		return "the mirror has stopped"
	}
	stale := r.Staleness(now)
	if v.MaxStaleness <= 0 || stale <= v.MaxStaleness {
		return ""
	}
	text := fmt.Sprintf("no watch has been heard for %s, more than %s", span(stale), v.MaxStaleness)
	if !r.FailingSince.IsZero() {
		text += lastError(r)
	}
	return text
}

// lastError is what keeps the mirror from being well, if that is known.
func lastError(r reflector.Status) string {
	if why := connect.Cause(r.LastError); why != "" {
		return ": " + why
	}
	return ""
}

// span is a length of time as precisely as people want it.
func span(d time.Duration) string {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
