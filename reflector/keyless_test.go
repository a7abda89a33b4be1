package reflector_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

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

// Nobody can ask for an object that has no key. If the sink refuses it, a list brings it.
func TestRefusedEventWithoutAKeyIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []partial{newPartial("a", "u", "90"), newPartial("b", "v", "91")}
		version := "100"
		server := newScripted()
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			return &listwatch.Page[partial]{Items: items, ResourceVersion: version}, nil
		}
		server.ask = func(context.Context, string) (*listwatch.Page[partial], error) {
			return &listwatch.Page[partial]{Items: items[:1], ResourceVersion: version}, nil
		}
		known := &refusesOnce{Store: store.New(store.Options[partial]{})}
		r := reflector.New[partial](server, known, reflector.Options{Rand: zero})
		stop := running(t, r)
		stream := <-server.streams
		synctest.Wait()
		known.armed = true
		items, version = []partial{items[0], newPartial("b", "v", "101")}, "101"
		stream.events <- listwatch.Event[partial]{Type: listwatch.Modified, Object: items[1], Meta: listwatch.Meta{ResourceVersion: "101"}}
		synctest.Wait()
		if safe := r.Status().SafeVersion; safe != "100" {
			t.Errorf("safe version is %s, and the sink lacks 101", safe)
		}
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
		page := func(at string) *listwatch.Page[partial] {
			return &listwatch.Page[partial]{Items: []partial{newPartial("a", "u", version)}, Metas: []listwatch.Meta{}, ResourceVersion: at}
		}
		server := newScripted()
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) { return page("100"), nil }
		server.ask = func(context.Context, string) (*listwatch.Page[partial], error) { return page("101"), nil }
		known := store.New(store.Options[partial]{})
		r := reflector.New[partial](server, known, reflector.Options{Rand: zero})
		stop := running(t, r)
		stream := <-server.streams
		version = "101"
		stream.undecodable(listwatch.Modified, newPartial("a", "u", "101"))
		later(time.Minute)
		if obj, _ := known.Get("a"); obj.ResourceVersion != "101" {
			t.Errorf("a is held at %s, and is at 101", obj.ResourceVersion)
		}
		stop()
	})
}
