package reflector_test

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// A watch that ends cleanly after the time that it was asked for is no failure, however short that time is.
func TestShortWatchesFollowEachOtherWithoutPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		backoffs := 0
		r := reflector.New[partial](server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
			MinWatchTimeout: 5 * time.Second, Rand: zero,
			Trace: &reflector.Trace{Backoff: func(reflector.Backoff) { backoffs++ }},
		})
		stop := running(t, r)
		for i := range 50 {
			stream := <-server.streams
			stream.event(source.Added, newPartial("a", "u", fmt.Sprint(101+i)))
			<-time.After(5 * time.Second)
			stream.events <- io.EOF
		}
		synctest.Wait()
		if backoffs != 0 {
			t.Errorf("%d delays between watches of 5 s, which is what they were asked for", backoffs)
		}
		stop()
	})
}
