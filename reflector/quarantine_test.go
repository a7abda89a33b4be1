package reflector

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

var errFull = errors.New("disk full")

const (
	askA = `ask "metadata.name=a" limit 2`
	askC = `ask "metadata.name=c" limit 2`
)

func at(key, version string) object.Meta {
	return object.Meta{Key: key, ResourceVersion: version}
}

// withRig runs test in a bubble, with a reflector that has just begun.
func withRig(t *testing.T, opts Options, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newRig(t, opts)) })
}

// askForBad sends an event of a that cannot be decoded, and waits until the server is asked for a.
func (r *rig) askForBad(s *stream, typ object.EventType, version string) {
	r.t.Helper()
	s.undecodable(typ, "a", version)
	later(time.Second)
	r.expect(askA)
}

// inQuarantine compares the keys in quarantine.
func (r *rig) inQuarantine(want ...string) {
	r.t.Helper()
	synctest.Wait()
	var got []string
	for _, q := range r.Status().Quarantined {
		got = append(got, q.Meta.Key)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		r.t.Fatalf("in quarantine are %q, want %q", got, want)
	}
}

// What the sink refuses holds nothing else up. The server is asked for the object, and
// what it answers is offered until the sink takes it.
func TestEventThatTheSinkRefusesIsRefetched(t *testing.T) {
	for name, test := range map[string]struct {
		typ      object.EventType
		told     string
		answered string // what an answer that has the object tells the sink
	}{
		"add":    {object.Added, "add c", "add c"},
		"update": {object.Modified, "update c", "add c"},
		"delete": {object.Deleted, "delete c", "add c"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var problems []Problem
				r := newRig(t, Options{Trace: &Trace{Problem: func(p Problem) { problems = append(problems, p) }}})
				s := r.synced()
				r.sink.refuse(test.told, errFull)
				s.event(test.typ, "c", "11")
				s.event(object.Modified, "a", "12")
				r.told(test.told + "; update a")
				status := r.Status()
				if status.ResourceVersion != "12" || len(status.Quarantined) != 1 || status.Quarantined[0].Meta.Key != "c" || !errors.Is(status.Quarantined[0].Err, errFull) {
					t.Errorf("status is %+v, want c in quarantine at 12", status)
				}
				if len(problems) != 1 || problems[0].Class != protocol.SinkProblem || problems[0].Key != "c" {
					t.Errorf("reported %v, want one problem of c", problems)
				}
				later(time.Second)
				r.expect(askC)
				r.sink.refuse(test.answered, errFull)
				r.fake.answer("12", at("c", "11"))
				r.told(test.answered)
				r.inQuarantine("c")
				later(10 * time.Second)
				r.expect(askC)
				r.fake.answer("12", at("c", "11"))
				r.told(test.answered)
				r.inQuarantine()
				later(40 * time.Second)
				r.expect("")
			})
		})
	}
}

// A sink that refuses everything is not a matter of single objects.
func TestSinkThatRefusesTooManyIsListedAgain(t *testing.T) {
	withRig(t, Options{}, func(_ *testing.T, r *rig) {
		s := r.synced()
		for i := range 101 {
			key := fmt.Sprintf("k%d", i)
			r.sink.refuse("add "+key, errFull)
			s.event(object.Added, key, fmt.Sprint(11+i))
		}
		later(900 * time.Millisecond)
		r.expect(`list "110" limit 0 continue ""`)
		r.fake.page("200", "a")
		r.inQuarantine()
	})
}

// The status says since when an object is in quarantine, when it is asked for, what is wrong with
// it, and why that cannot be mended.
func TestStatusOfAnObjectInQuarantine(t *testing.T) {
	withRig(t, Options{}, func(t *testing.T, r *rig) {
		s := r.synced()
		s.undecodable(object.Modified, "a", "11")
		r.inQuarantine("a")
		if q := r.Status().Quarantined[0]; q.Meta != at("a", "11") || !q.Since.Equal(time.Now()) || !q.NextTry.Equal(time.Now().Add(time.Second)) {
			t.Errorf("in quarantine is %+v, want a at 11 since now, and a question in a second", q)
		}
		later(time.Second)
		r.expect(askA)
		r.fake.asks <- listAnswer{err: statusErr(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}
		r.inQuarantine("a")
		err := r.Status().Quarantined[0].Err
		if !strings.Contains(err.Error(), "bad field") || !strings.Contains(err.Error(), "asking for it failed") {
			t.Errorf("the error is %q, want what is wrong with the object and why that cannot be mended", err)
		}
		s.event(object.Modified, "a", "12")
		r.told("update a")
		r.inQuarantine()
	})
}

// The sink of this test cannot say what it holds. If nobody knows in which state an object
// was deleted, there is nothing to call Delete with, so a list says that it is gone.
func TestUndecodableDeletionNeedsAListIfTheSinkTellsNothing(t *testing.T) {
	withRig(t, Options{}, func(_ *testing.T, r *rig) {
		s := r.synced()
		r.askForBad(s, object.Deleted, "11")
		r.fake.answer("11")
		r.told("")
		r.inQuarantine("a")
		later(time.Second)
		r.expect(`list "" limit 500 continue ""`)
		r.fake.page("12", "b")
		r.told("replace b @12")
		r.inQuarantine()
	})
}

// A server whose answer cannot be that of one object is not asked again for a while, but listed.
// refetch-field-selectors-ignored.txt and refetch-refused.txt have the other forms, and what
// follows.
func TestAnswerThatIsNotOfOneObject(t *testing.T) {
	for name, page := range map[string]source.Page[string]{
		"another object": {ResourceVersion: "20", Items: []string{"b"}, Metas: []object.Meta{at("b", "5")}},
		"no version":     {Items: []string{"a"}, Metas: []object.Meta{at("a", "11")}},
		"more to come":   {ResourceVersion: "20", Continue: "token", Items: []string{"a"}, Metas: []object.Meta{at("a", "11")}},
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, Options{}, func(_ *testing.T, r *rig) {
				r.askForBad(r.synced(), object.Modified, "11")
				r.fake.asks <- listAnswer{page: &page}
				r.told("")
				later(time.Second)
				r.expect(`list "" limit 500 continue ""`)
			})
		})
	}
}
