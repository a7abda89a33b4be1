package status

import (
	"fmt"
	"time"

	"github.com/relist-go/relist/reflector"
)

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
	if r.LastError == nil {
		return ""
	}
	return ": " + r.LastError.Error()
}

// span is a length of time as precisely as people want it.
func span(d time.Duration) string {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
