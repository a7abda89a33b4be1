package reflector

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/object"
)

func TestTraceTellsTheStoryInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var story []string
		tell := func(what string) { story = append(story, what) }
		r := newRig(t, Options{Trace: &Trace{
			ListStart: func(e ListStart) { tell("list " + e.ResourceVersion) },
			ListDone: func(e ListDone) {
				if e.Err != nil {
					tell("not listed: " + e.Err.Error())
				} else {
					tell("listed " + e.ResourceVersion)
				}
			},
			WatchStart: func(e WatchStart) { tell("watch " + e.ResourceVersion) },
			WatchOpen:  func() { tell("open") },
			Event:      func(e Event) { tell(e.Type.String() + " " + e.Key) },
			Bookmark:   func(version string) { tell("bookmark " + version) },
			WatchEnd: func(e WatchEnd) {
				tell(fmt.Sprintf("end %s after %d event at %s", e.Reason, e.Events, e.ResourceVersion))
			},
			Relist:  func(e Relist) { tell("relist " + e.Reason.String()) },
			Backoff: func(e Backoff) { tell("wait " + e.Delay.String()) },
			Synced:  func() { tell("synced") },
			Problem: func(e Problem) { tell("problem " + e.Class.String()) },
		}})
		r.expect(`list "0" limit 500 continue ""`)
		later(2*time.Minute + 800*time.Millisecond) // the server is idle, and the client delays
		s := r.synced()
		s.event(object.Added, "c", "11")
		s.event(object.Bookmark, "", "12")
		s.event(object.Bookmark, "", "9")
		s.events <- gone()
		later(time.Second)
		r.fake.page("20", "a")
		synctest.Wait()
		want := []string{
			"list 0", "not listed: nothing came for too long", "problem list", "wait 800ms",
			"list 0", "listed 10", "synced", "watch 10", "open", "ADDED c", "bookmark 12", "problem version",
			"end expired after 1 event at 12", "relist expired", "wait 800ms", "list 12", "listed 20", "watch 20",
		}
		if !slices.Equal(story, want) {
			t.Errorf("trace told\n%q, want\n%q", story, want)
		}
	})
}

// Each function of each Trace is called, in order; a function that a later version adds must not be
// forgotten.
func TestJoinTracesCallsEachFunctionOfEach(t *testing.T) {
	var called []string
	full := func(name string) *Trace {
		trace := &Trace{}
		for v, i := reflect.ValueOf(trace).Elem(), 0; i < v.NumField(); i++ {
			field := v.Type().Field(i).Name
			v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
				called = append(called, name+" "+field)
				return nil
			}))
		}
		return trace
	}
	for _, tt := range []struct {
		traces []*Trace
		want   []string
	}{
		{nil, nil},
		{[]*Trace{nil, {}}, nil},
		{[]*Trace{nil, full("a"), {}}, []string{"a"}},
		{[]*Trace{full("a"), full("b"), nil, full("c")}, []string{"a", "b", "c"}},
	} {
		joined := reflect.ValueOf(JoinTraces(tt.traces...)).Elem()
		for i := range joined.NumField() {
			called = nil
			if f := joined.Field(i); !f.IsNil() {
				args := []reflect.Value{}
				for j := range f.Type().NumIn() {
					args = append(args, reflect.Zero(f.Type().In(j)))
				}
				f.Call(args)
			}
			var want []string
			for _, name := range tt.want {
				want = append(want, name+" "+joined.Type().Field(i).Name)
			}
			if !slices.Equal(called, want) {
				t.Errorf("called %q, want %q", called, want)
			}
		}
	}
}
