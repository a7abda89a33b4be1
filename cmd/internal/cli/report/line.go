package report

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Line is one thing to report.
type Line interface {
	// Text is the line for people, without time and kind.
	Text() string
}

// Kind returns a line's "kind" in JSON: the name of its type, such as watchEnd.
func Kind(l Line) string {
	name := reflect.TypeOf(l).Name()
	return strings.ToLower(name[:1]) + name[1:]
}

// Delta is a change that the mirror has applied.
type Delta struct {
	Type            string    `json:"type"`
	Key             string    `json:"key"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
	Inferred        bool      `json:"inferred"` // the deletion was not seen; a list lacked the object

	// Changes are the fields that differ from what the mirror had, if somebody asked for them.
	Changes []Change `json:"changes,omitempty"`

	// Initial says that the object belongs to the first list, or that a later list brought it as it
	// was.
	Initial bool `json:"-"`

	// Object and Before are the object as the server sent it, and what the mirror had before: nil
	// if nothing. They must not be changed.
	Object, Before []byte `json:"-"`
}

// Change is a field that has changed. If the field is new, Old is empty. If the field is gone, New
// is empty.
type Change struct {
	Path string          `json:"path"` // such as .spec.containers[0].image
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// Synced says that everything of the first list has been applied.
type Synced struct {
	ResourceVersion string  `json:"resourceVersion"`
	Objects         int     `json:"objects"`
	Seconds         float64 `json:"seconds"` // since the start
}

// List is a list that came whole.
type List struct {
	ResourceVersion string  `json:"resourceVersion"`
	Items           int     `json:"items"`
	Pages           int     `json:"pages"`
	Seconds         float64 `json:"seconds"`
}

// Watch is a watch that is asked for.
type Watch struct {
	ResourceVersion string  `json:"resourceVersion"`
	TimeoutSeconds  float64 `json:"timeoutSeconds"`
}

// Bookmark is the server's word that nothing is missing up to a version.
type Bookmark struct {
	ResourceVersion string `json:"resourceVersion"`
}

// WatchEnd is a watch that was refused or has ended.
type WatchEnd struct {
	ResourceVersion string  `json:"resourceVersion"` // where the next one goes on
	Reason          string  `json:"reason"`
	Message         string  `json:"message,omitempty"`
	Events          int     `json:"events"`
	Seconds         float64 `json:"seconds"`
}

// Relist is the decision to list again.
type Relist struct {
	ResourceVersion string `json:"resourceVersion"` // the one that is given up
	Reason          string `json:"reason"`
	Message         string `json:"message,omitempty"`
}

// Backoff is a pause before the next request.
type Backoff struct {
	Seconds float64 `json:"seconds"`
	Reason  string  `json:"reason"`
}

// Problem is something that the protocol does not provide for.
type Problem struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	Key     string `json:"key,omitempty"`
}

// Deltas counts deltas by type. Those of the first list have a count of their own, because they
// replace nothing.
type Deltas struct {
	FirstList int `json:"FirstList"`
	Added     int `json:"Added"`
	Updated   int `json:"Updated"`
	Deleted   int `json:"Deleted"`
	Replaced  int `json:"Replaced"`
	Sync      int `json:"Sync"`
}

// Summary is the last line.
type Summary struct {
	Objects         int     `json:"objects"`
	ResourceVersion string  `json:"resourceVersion"` // up to which the mirror has everything
	Digest          string  `json:"digest"`
	Lists           int     `json:"lists"`   // that came whole
	Watches         int     `json:"watches"` // asked for
	Bookmarks       int     `json:"bookmarks"`
	Relists         int     `json:"relists"`
	Inferred        int     `json:"inferredDeletions"` // no watch reported them
	Deltas          Deltas  `json:"deltas"`
	Problems        int     `json:"problems"`
	SyncSeconds     float64 `json:"syncSeconds"`  // from the start to Synced; 0 if it did not come
	CPUSeconds      float64 `json:"cpuSeconds"`   // of the process, user and system; 0 where the system does not say
	PeakRSSBytes    int64   `json:"peakRSSBytes"` // of the process; 0 where the system does not say
}

// Seconds is a duration as lines give it, to the microsecond.
func Seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }
