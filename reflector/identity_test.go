package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// An object in quarantine is repaired by what the server says of it, also if the sink holds
// it without its version, because a transform clears that, or if versions are no numbers.
func TestRepairDoesNotDependOnTheVersionThatIsHeld(t *testing.T) {
	for _, c := range []struct {
		name                  string
		list, held, bad, good string
		clear                 bool
	}{
		{name: "held as it came", list: "100", held: "90", bad: "101", good: "101"},
		{name: "held without a version", list: "100", held: "90", bad: "101", good: "101", clear: true},
		{name: "versions that are no numbers", list: "a100", held: "a90", bad: "a101", good: "a101"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transformed := func(version, label string) *source.Page[partial] {
					page := pageOf(c.list, newPartial("x", "u", version))
					page.Items[0].Labels = map[string]string{"is": label}
					if c.clear {
						page.Items[0].ResourceVersion = ""
					}
					return page
				}
				server := newScripted()
				repaired := false
				server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
					if repaired {
						return transformed(c.good, "new"), nil
					}
					return transformed(c.held, "old"), nil
				}
				server.ask = func(context.Context, string) (*source.Page[partial], error) {
					page := transformed(c.good, "new")
					page.ResourceVersion = c.good
					return page, nil
				}
				sink := store.New(store.Options[partial]{})
				r := reflector.New(server, reflector.InMemory(sink), reflector.Options{Rand: zero})
				running(t, r)
				s := <-server.streams
				repaired = true
				s.undecodable(object.Modified, newPartial("x", "u", c.bad))
				later(10 * time.Second)
				if obj, _ := sink.Get("x"); obj.Labels["is"] != "new" {
					t.Errorf("x is the %s one; in quarantine are %v", obj.Labels["is"], r.Status().Quarantined)
				}
				if q := r.Status().Quarantined; len(q) > 0 {
					t.Errorf("in quarantine are %v, want nobody", q)
				}
			})
		})
	}
}

// A transform that clears UIDs or versions leaves less to compare. What is left does not
// differ.
func TestVerifyWhereUIDsOrVersionsAreCleared(t *testing.T) {
	for _, c := range []struct {
		name string
		held partial
	}{
		{"UIDs", newPartial("x", "", "90")},
		{"versions", newPartial("x", "u", "")},
		{"both", newPartial("x", "", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newScripted()
				server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
					page := pageOf("100", c.held)
					page.Metas[0] = metaOf(newPartial("x", "u", "90"))
					return page, nil
				}
				server.ask = func(context.Context, string) (*source.Page[partial], error) {
					return server.list(metav1.ListOptions{})
				}
				metadata := newScripted()
				metadata.list = func(metav1.ListOptions) (*source.Page[partial], error) {
					return pageOf("100", newPartial("x", "u", "90")), nil
				}
				verified := 0
				r := reflector.New(server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
					Rand: zero, Verify: reflector.VerifyOptions{Interval: time.Minute, Metadata: metadata},
					Trace: &reflector.Trace{
						Verified: func(reflector.Verified) { verified++ },
						Problem:  func(p reflector.Problem) { t.Errorf("nothing differs: %v", p.Err) },
					},
				})
				stop := running(t, r)
				later(10*time.Minute + time.Second)
				stop()
				if lists, _, _ := server.count(); verified != 10 || lists != 1 {
					t.Errorf("%d verifications and %d lists, want 10 and 1", verified, lists)
				}
			})
		})
	}
}

// refusesOnce is a store that refuses an update once it is told to.
type refusesOnce struct {
	*store.Store[partial]
	armed bool
}

func (s *refusesOnce) Update(obj partial) error {
	if s.armed {
		s.armed = false
		return errors.New("no room")
	}
	return s.Store.Update(obj)
}

// keepsAll is a store that refuses deletions as long as it is told to.
type keepsAll struct {
	*store.Store[partial]
	yields bool
}

func (s *keepsAll) Delete(obj partial) error {
	if !s.yields {
		return errors.New("read-only")
	}
	return s.Store.Delete(obj)
}

// If the sink keeps refusing to delete an object, that is reported once, and the server is asked
// for the object less and less often, although each answer has a newer version.
func TestDeletionThatTheSinkKeepsRefusing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := 101
		server := newScripted()
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			return pageOf("100", newPartial("a", "u", "90"), newPartial("b", "v", "91")), nil
		}
		server.ask = func(context.Context, string) (*source.Page[partial], error) {
			return pageOf(fmt.Sprint(version)), nil
		}
		var refusals []reflector.Problem
		sink := &keepsAll{Store: store.New(store.Options[partial]{})}
		r := reflector.New(server, reflector.InMemory[partial](sink), reflector.Options{
			Rand: zero, MinWatchTimeout: 3 * time.Hour,
			Trace: &reflector.Trace{Problem: func(p reflector.Problem) { refusals = append(refusals, p) }},
		})
		stop := running(t, r)
		stream := <-server.streams
		stream.event(object.Deleted, newPartial("a", "u", "101"))
		for range 120 {
			later(30 * time.Second)
			version += 10
			stream.bookmark(fmt.Sprint(version))
		}
		synctest.Wait()
		lists, asks, watches := server.count()
		if lists != 1 || watches != 1 {
			t.Fatalf("%d lists and %d watches, want one of each", lists, watches)
		}
		if asks < 10 || asks > 16 { // 10 within 17 minutes, and then one every 10 minutes
			t.Errorf("the server was asked %d times in an hour, want 14", asks)
		}
		if len(refusals) != 1 || refusals[0].Class != protocol.SinkProblem || refusals[0].Key != "a" {
			t.Errorf("reported are %v, want one problem of a", refusals)
		}

		sink.yields = true
		for range 25 {
			later(30 * time.Second)
			stream.bookmark(fmt.Sprint(version))
		}
		if _, ok := sink.Get("a"); ok || len(r.Status().Quarantined) > 0 {
			t.Errorf("a is held: %v, and in quarantine: %v, although the sink deletes again", ok, r.Status().Quarantined)
		}
		stop()
	})
}

// Nobody can ask for an object that has no key. If the sink refuses it, a list brings it.
func TestRefusedEventWithoutAKeyIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []partial{newPartial("a", "u", "90"), newPartial("b", "v", "91")}
		version := "100"
		server := newScripted()
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			return &source.Page[partial]{Items: items, ResourceVersion: version}, nil
		}
		server.ask = func(context.Context, string) (*source.Page[partial], error) {
			return &source.Page[partial]{Items: items[:1], ResourceVersion: version}, nil
		}
		known := &refusesOnce{Store: store.New(store.Options[partial]{})}
		r := reflector.New(server, reflector.InMemory[partial](known), reflector.Options{Rand: zero})
		stop := running(t, r)
		stream := <-server.streams
		synctest.Wait()
		known.armed = true
		items, version = []partial{items[0], newPartial("b", "v", "101")}, "101"
		stream.events <- source.Event[partial]{Type: object.Modified, Object: items[1], Meta: object.Meta{ResourceVersion: "101"}}
		synctest.Wait()
		later(time.Minute)
		if obj, _ := known.Get("b"); obj.ResourceVersion != "101" {
			t.Errorf("b is held at %s, and is at 101", obj.ResourceVersion)
		}
		stop()
	})
}

// A ListWatcher that gives no metadata beside its items may leave an empty slice.
func TestAnswerWithoutMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := "90"
		page := func(at string) *source.Page[partial] {
			return &source.Page[partial]{Items: []partial{newPartial("a", "u", version)}, Metas: []object.Meta{}, ResourceVersion: at}
		}
		server := newScripted()
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) { return page("100"), nil }
		server.ask = func(context.Context, string) (*source.Page[partial], error) { return page("101"), nil }
		known := store.New(store.Options[partial]{})
		r := reflector.New(server, reflector.InMemory[partial](known), reflector.Options{Rand: zero})
		stop := running(t, r)
		stream := <-server.streams
		version = "101"
		stream.undecodable(object.Modified, newPartial("a", "u", "101"))
		later(time.Minute)
		if obj, _ := known.Get("a"); obj.ResourceVersion != "101" {
			t.Errorf("a is held at %s, and is at 101", obj.ResourceVersion)
		}
		stop()
	})
}
