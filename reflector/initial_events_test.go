package reflector_test

import (
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// If none of the initial events can be decoded, that is a failure, as with a list: the status says
// so, and Fatal is called.
func TestUndecodableInitialEventsAreAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		asked := 0
		r := reflector.New[partial](server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
			Initial: reflector.Streaming, Rand: zero, Fatal: func(error) bool { asked++; return false },
		})
		stop := running(t, r)
		stream := <-server.streams
		stream.undecodable(object.Added, newPartial("a", "u", "9"))
		stream.events <- source.Event[partial]{Type: object.Bookmark, Meta: object.Meta{ResourceVersion: "10"}, InitialEventsEnd: true}
		synctest.Wait()
		if status := r.Status(); status.LastError == nil || status.FailingSince.IsZero() {
			t.Errorf("status has the failure %v since %v, want that nothing could be decoded", status.LastError, status.FailingSince)
		}
		if asked != 1 {
			t.Errorf("Fatal was asked %d times, want once", asked)
		}
		stop()
	})
}
