package status

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// now is when the tests look.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name   string
		view   View
		status reflector.Status
		want   string
	}{
		{
			"stopped before it began", View{}, reflector.Status{}, `status of pods from http://api
  health   NOT OK: the first list has not been applied
  state    stopped
  objects  0, pending 0
`,
		},
		{
			"watching",
			View{},
			reflector.Status{
				Started: ago(2 * time.Hour), State: reflector.Watching, Since: ago(time.Hour), Synced: true, ResourceVersion: "7",
				LastByte: ago(1234 * time.Millisecond), LastEvent: ago(2 * time.Minute), LastBookmark: ago(1234 * time.Millisecond),
			},
			`status of pods from http://api
  health           ok
  state            watching for 1h0m0s
  objects          0, pending 0
  resourceVersion  7
  staleness        1.2s
  last byte        1.2s ago
  last event       2m0s ago
  last bookmark    1.2s ago
`,
		},
		{
			"everything is wrong",
			View{MaxStaleness: time.Minute},
			reflector.Status{
				Started: ago(2 * time.Hour), State: reflector.Waiting, Since: ago(time.Second), Synced: true, ResourceVersion: "7", LastByte: ago(time.Second),
				WatchedUntil: ago(5 * time.Minute), FailingSince: ago(5 * time.Minute), LastError: errors.New("the server\nsaid \x1b[31mno"), LastErrorTime: ago(time.Second), NextRetry: ago(-10 * time.Second),
				Quarantined: []reflector.Quarantined{
					{Meta: object.Meta{Key: "a/b"}, Err: errors.New("bad\nlabel"), Since: ago(time.Hour)},
					{Meta: object.Meta{Key: "a/c", ResourceVersion: "6"}, Err: errors.New("bad"), Since: ago(time.Minute), NextTry: ago(-time.Second)},
				},
			},
			`status of pods from http://api
  health           NOT OK: no watch has been heard for 5m0s, more than 1m0s: the server said \x1b[31mno
  state            waiting for 1s, next retry in 10s
  objects          0, pending 0
  resourceVersion  7
  staleness        5m0s of 1m0s
  last byte        1s ago
  failing since    5m0s ago
  last error       1s ago: the server said \x1b[31mno
  quarantined      a/b, 1h0m0s ago: bad label
  quarantined      a/c at 6, 1m0s ago, next try in 1s: bad
`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.view.Resource, tt.view.Server = "pods", "http://api"
			if diff := cmp.Diff(tt.want, tt.view.of(tt.status, now).Text()); diff != "" {
				t.Errorf("Text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	watching := reflector.Status{Started: ago(2 * time.Hour), State: reflector.Watching, Since: ago(time.Hour), Synced: true, LastByte: ago(time.Minute)}
	reopened := watching
	reopened.Since = ago(time.Second)
	stopped := watching
	stopped.State = reflector.Stopped
	failing := watching
	failing.State, failing.LastByte, failing.WatchedUntil, failing.FailingSince = reflector.Waiting, ago(0), ago(time.Minute), ago(time.Minute)
	silent := failing
	silent.WatchedUntil, silent.LastError = ago(time.Hour), errors.New("no")
	listing := watching
	listing.State, listing.LastByte, listing.WatchedUntil = reflector.Listing, ago(0), ago(time.Minute)
	for _, tt := range []struct {
		name   string
		limit  time.Duration
		status reflector.Status
		want   string
	}{
		{"no limit", 0, watching, ""},
		{"at the limit", time.Minute, watching, ""},
		{"past the limit", time.Minute - 1, watching, "no watch has been heard for 1m0s, more than 59.999999999s"},
		{"accepted since", time.Second, reopened, ""},
		{"stopped", 0, stopped, "the mirror has stopped"},
		{"failing, no limit", 0, failing, ""},
		{"failing", time.Second, failing, "no watch has been heard for 1m0s, more than 1s"},
		{"silent, then failing", time.Second, silent, "no watch has been heard for 1h0m0s, more than 1s: no"},
		{"a long list", time.Second, listing, "no watch has been heard for 1m0s, more than 1s"},
		{"not synced", 0, reflector.Status{State: reflector.Listing, LastError: errors.New("no")}, "the first list has not been applied: no"},
	} {
		v := View{MaxStaleness: tt.limit}
		if got := v.of(tt.status, now); got.Reason != tt.want || got.Healthy != (tt.want == "") {
			t.Errorf("%s: healthy %v, %q; want %q", tt.name, got.Healthy, got.Reason, tt.want)
		}
	}
}
