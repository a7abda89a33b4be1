package reflector

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/protocol"
)

// A server that accepts the watch and then says nothing at all is half-open.
func TestStreamThatOutlivesItsTimeoutIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []WatchEnd
		r := newRig(t, Options{Trace: &Trace{WatchEnd: func(e WatchEnd) { ends = append(ends, e) }}})
		s := r.synced()
		s.event(listwatch.Added, "c", "11")
		for version := 12; version < 18; version++ { // it is not silent
			later(50 * time.Second)
			s.event(listwatch.Bookmark, "", fmt.Sprint(version))
		}
		later(9 * time.Second)
		r.expect("")
		later(2 * time.Second)
		r.expect(`watch "17" for 300s`)
		if !s.closed {
			t.Error("the dead stream was not closed")
		}
		if len(ends) != 1 || ends[0].Reason != protocol.TimedOut || ends[0].Events != 1 || ends[0].ResourceVersion != "17" {
			t.Errorf("reported %+v, want one end: timed out after 1 event at 17", ends)
		}
	})
}

func TestServerThatDecidesOnTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MinWatchTimeout: -1})
		r.expect(`list "0" limit 500 continue ""`)
		r.fake.page("10", "a")
		r.expect(`watch "10"`)
		s := r.fake.open()
		for version := range 24 * 60 {
			later(50 * time.Second)
			s.event(listwatch.Bookmark, "", fmt.Sprint(11+version))
			r.expect("")
		}
	})
}

// The rate at which streams are opened follows the curve even where each
// delivers something.
func TestStreamsThatDieYoungSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		begin := time.Now()
		var gaps []time.Duration
		for n := range 10 {
			s.event(listwatch.Bookmark, "", strconv.Itoa(11+n))
			s.events <- io.ErrUnexpectedEOF
			<-r.fake.asked
			gaps = append(gaps, time.Since(begin))
			begin = time.Now()
			s = r.fake.open()
		}
		ms := time.Millisecond
		want := []time.Duration{0, 800 * ms, 800 * ms, 800 * ms, 1200 * ms, 4000 * ms, 4000 * ms, 8000 * ms, 16000 * ms, 30000 * ms}
		if !slices.Equal(gaps, want) {
			t.Errorf("streams were opened after %v, want %v", gaps, want)
		}
	})
}

// Version 0 stands for any, so that nothing can follow what ends with it.
func TestInitialEventsThatEndAtVersionZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Initial: Watch})
		r.expect(`watch "" for 300s`)
		r.fake.open().end("0")
		r.expect(`list "" limit 500 continue ""`)
		r.told("")
	})
}

// A sink may take long for a list. The watch behind it, or the one that has brought the list as initial events, is as fresh as ever: it is
// not silent, and it is not given up before the server ends it.
func TestSlowListIsNoSilence(t *testing.T) {
	for _, took := range []time.Duration{15 * time.Second, 3 * time.Minute} {
		for _, initial := range []Initial{ListAny, Watch} {
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
					if initial != Watch {
						asked = time.Now()
					}
					for time.Since(asked)+44*time.Second < 310*time.Second { // which is when it is given up
						later(44 * time.Second)
						s.say(listwatch.Event[string]{Type: listwatch.Bookmark, Meta: listwatch.Meta{ResourceVersion: "10"}})
					}
				})
			})
		}
	}
}

// slowlySynced gives a list to a sink that takes long for it, and returns the watch behind it.
func (r *rig) slowlySynced(initial Initial, took time.Duration) *stream {
	if initial == Watch {
		r.expect(`watch "" for 300s`)
		s := r.fake.open()
		s.event(listwatch.Added, "a", "5")
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
