package apitest

import "time"

// bookmarkLead is how long before its timeout a watch gets a last bookmark, so that the next one starts near the present.
const bookmarkLead = 2 * time.Second

// A watchClock says when a watch ends, and when its next bookmark is due.
type watchClock struct {
	end      time.Time // zero: never
	wanted   bool      // the client asked for bookmarks
	period   time.Duration
	deadline <-chan time.Time
	timer    *time.Timer
	bookmark *time.Timer
}

// secondBookmark is when a watch with initial events gets a bookmark if there have been changes by then. kube-apiserver looks each second
// whether the bookmark that ends initial events can be sent, and once more after it was.
const secondBookmark = time.Second

func newWatchClock(timeout, period time.Duration, bookmarks, initial bool) *watchClock {
	c := &watchClock{period: period, wanted: bookmarks}
	if timeout > 0 {
		c.end = time.Now().Add(timeout)
		c.timer = time.NewTimer(timeout)
		c.deadline = c.timer.C
	}
	c.bookmark = time.NewTimer(time.Hour)
	c.bookmark.Stop()
	c.nextBookmark()
	if initial && bookmarks && period > secondBookmark {
		c.bookmark.Reset(secondBookmark)
	}
	return c
}

// setPeriod restarts the time to the next bookmark if the period has changed.
func (c *watchClock) setPeriod(period time.Duration) {
	if c.period != period {
		c.period = period
		c.nextBookmark()
	}
}

// nextBookmark sets the timer: a period from now, or shortly before the end, whichever is first.
func (c *watchClock) nextBookmark() {
	if !c.wanted || c.period <= 0 {
		c.bookmark.Stop()
		return
	}
	d := c.period
	if !c.end.IsZero() {
		if last := time.Until(c.end) - bookmarkLead; last > 0 {
			d = min(d, last)
		}
	}
	c.bookmark.Reset(d)
}

func (c *watchClock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.bookmark.Stop()
}
