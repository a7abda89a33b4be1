package reflector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/listwatch"
)

var errFull = errors.New("disk full")

// What the sink refuses is offered again, and holds nothing else up.
func TestEventThatTheSinkRefusesIsOfferedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		typ  listwatch.Type
		told string
	}{
		"add":    {listwatch.Added, "add c"},
		"update": {listwatch.Modified, "update c"},
		"delete": {listwatch.Deleted, "delete c"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var problems []Problem
				r := newRig(t, Options{Trace: &Trace{Problem: func(p Problem) { problems = append(problems, p) }}})
				s := r.synced()
				r.sink.refuse(test.told, errFull)
				s.event(test.typ, "c", "11")
				s.event(listwatch.Modified, "a", "12")
				r.told(test.told + "; update a")
				status := r.Status()
				if status.ResourceVersion != "12" || len(status.Quarantined) != 1 || status.Quarantined[0].Meta.Key != "c" || !errors.Is(status.Quarantined[0].Err, errFull) {
					t.Errorf("status is %+v, want c in quarantine at 12", status)
				}
				if len(problems) != 1 || problems[0].Class != SinkProblem || problems[0].Key != "c" {
					t.Errorf("reported %v, want one problem of c", problems)
				}
				r.sink.refuse(test.told, errFull)
				later(time.Second)
				r.told(test.told)
				later(time.Second)
				r.told("")
				later(time.Second)
				r.told(test.told)
				if q := r.Status().Quarantined; len(q) != 0 {
					t.Errorf("in quarantine are %v, want nobody", q)
				}
				later(time.Hour)
				r.expect(`watch "12" for 300s`)
			})
		})
	}
}

// A newer event makes up for the one that was refused.
func TestNextEventReleasesFromQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		r.sink.refuse("add c", errFull)
		s.event(listwatch.Added, "c", "11")
		s.event(listwatch.Modified, "c", "12")
		r.told("add c; update c")
		later(time.Minute)
		r.told("")
	})
}

// A sink that refuses everything is not a matter of single objects.
func TestSinkThatRefusesTooManyIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		for i := range maxRefused + 1 {
			key := fmt.Sprintf("k%d", i)
			r.sink.refuse("add "+key, errFull)
			s.event(listwatch.Added, key, fmt.Sprint(11+i))
		}
		later(time.Second)
		r.expect(`list "110" limit 0 continue ""`)
		r.fake.page("200", "a")
		synctest.Wait()
		if q := r.Status().Quarantined; len(q) != 0 {
			t.Errorf("in quarantine are %d, want nobody after a list", len(q))
		}
	})
}

// Without a way to fetch it, only an event helps an object that cannot be decoded.
func TestUndecodableObjectWaitsForAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		bad := &listwatch.ObjectError{Meta: listwatch.Meta{Key: "a", ResourceVersion: "11"}, Err: errors.New("bad field")}
		s.events <- listwatch.Event[string]{Type: listwatch.Modified, Meta: bad.Meta, Err: bad}
		later(time.Minute)
		if q := r.Status().Quarantined; len(q) != 1 || !q[0].NextTry.IsZero() {
			t.Errorf("in quarantine are %v, want a, for good", q)
		}
		s.event(listwatch.Modified, "a", "12")
		r.told("update a")
		if q := r.Status().Quarantined; len(q) != 0 {
			t.Errorf("in quarantine are %v, want nobody", q)
		}
	})
}

// The sink of this test cannot say what it holds, so that a deletion of which only
// the name can be read needs a list.
func TestUndecodableDeletionNeedsAListWithoutKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		s := r.synced()
		bad := &listwatch.ObjectError{Meta: listwatch.Meta{Key: "a", ResourceVersion: "11"}, Err: errors.New("bad field")}
		s.events <- listwatch.Event[string]{Type: listwatch.Deleted, Meta: bad.Meta, Err: bad}
		later(time.Second)
		r.expect(`list "10" limit 0 continue ""`)
	})
}

func TestQuarantineCurve(t *testing.T) {
	q := newQuarantine[string](Options{Rand: func() float64 { return 0 }}.rules(), true)
	now := t0
	q.admit(listwatch.Meta{Key: "a"}, errFull, nil, now)
	var waits []time.Duration
	for range 12 {
		p := q.patients["a"]
		waits = append(waits, p.NextTry.Sub(now))
		if q.due(p.NextTry.Add(-1)) != nil || q.due(p.NextTry) != p {
			t.Fatalf("not due at %v", p.NextTry)
		}
		now = p.NextTry
		q.postpone(p, now)
	}
	s := time.Second
	want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 512 * s, 600 * s, 600 * s}
	if !slices.Equal(waits, want) {
		t.Errorf("waits are %v, want %v", waits, want)
	}
}

// fetching is a fake that fetches objects too, none of which can be decoded.
type fetching struct {
	*fake
	gets chan time.Time
}

func (f fetching) Get(_ context.Context, key string) (string, listwatch.Meta, error) {
	f.gets <- time.Now()
	return "", listwatch.Meta{Key: key}, errors.New("bad field")
}

// However many objects cannot be decoded, they are fetched one after the other, and no
// faster than ten in a second.
func TestQuarantineIsFetchedSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		_ = r.end()
		f := fetching{fake: r.fake, gets: make(chan time.Time, 10_000)}
		for len(f.asked) > 0 {
			<-f.asked
		}
		r.Reflector = New(f, r.sink, Options{Rand: func() float64 { return 0 }})
		r.run()
		s := r.synced()
		for i := range 200 {
			meta := listwatch.Meta{Key: fmt.Sprint("k", i), ResourceVersion: fmt.Sprint(11 + i)}
			s.events <- listwatch.Event[string]{Type: listwatch.Added, Meta: meta, Err: &listwatch.ObjectError{Meta: meta, Err: errors.New("bad field")}}
		}
		later(time.Minute)
		n := len(f.gets)
		last := time.Time{}
		for range n {
			at := <-f.gets
			if !last.IsZero() && at.Sub(last) < getPause {
				t.Fatalf("two Gets within %s, want %s at least", at.Sub(last), getPause)
			}
			last = at
		}
		if n < 500 {
			t.Errorf("%d Gets in a minute, want the pace to be used: 600", n)
		}
	})
}
