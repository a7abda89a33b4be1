package reflector

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

func TestServerThatDecidesOnTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MinWatchTimeout: -1})
		r.expect(`list "0" limit 500 continue ""`)
		r.fake.page("10", "a")
		r.expect(`watch "10"`)
		s := r.fake.open()
		for version := range 24 * 60 {
			later(50 * time.Second)
			s.event(object.Bookmark, "", fmt.Sprint(11+version))
			r.expect("")
		}
	})
}

// A sink may take long for a list. The watch behind it, or the one that has brought the list as
// initial events, is as fresh as ever: it is not idle, and it is not given up before the server
// ends it.
func TestSlowListIsNotIdle(t *testing.T) {
	for _, took := range []time.Duration{15 * time.Second, 3 * time.Minute} {
		for _, initial := range []InitialList{FromCache, Streaming} {
			t.Run(fmt.Sprint(took, " ", initial), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, Options{Initial: initial, Trace: &Trace{WatchEnd: func(e WatchEnd) { t.Errorf("a watch ended: %v", e.Err) }}})
					r.sink.hook = func(line string) {
						if strings.HasPrefix(line, "replace") {
							<-time.After(took)
						}
					}
					asked := time.Now()
					s := r.slowlySynced(initial, took)
					if initial != Streaming {
						asked = time.Now()
					}
					for time.Since(asked)+44*time.Second < 310*time.Second { // which is when it is given up
						later(44 * time.Second)
						s.say(source.Event[string]{Type: object.Bookmark, Meta: object.Meta{ResourceVersion: "10"}})
					}
				})
			})
		}
	}
}

// slowlySynced gives a list to a sink that takes long for it, and returns the watch behind it.
func (r *rig) slowlySynced(initial InitialList, took time.Duration) *stream {
	if initial == Streaming {
		r.expect(`watch "" for 300s`)
		s := r.fake.open()
		s.event(object.Added, "a", "5")
		s.end("10")
		later(took)
		return s
	}
	r.expect(`list "0" limit 500 continue ""`)
	r.fake.page("10", "a", "b")
	later(took)
	r.expect(`watch "10" for 300s`)
	return r.fake.open()
}
