package protocol

import (
	"strconv"
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// A list for repair takes its turn among lists and refetches. The watch continues until that has
// come, whatever the delays are.
func TestWatchGoesOnUntilTheListForRepair(t *testing.T) {
	for _, base := range []time.Duration{200 * time.Millisecond, 800 * time.Millisecond, 3 * time.Second} {
		t.Run(base.String(), func(t *testing.T) {
			s := newStage(func(r *Rules) { r.Base = base })
			s.watched()
			for i := range burst {
				s.step(event(object.Added, bad(strconv.Itoa(i), strconv.Itoa(101+i), "")))
			}
			s.tick()
			for eff, ok := sent[Refetch](s); ok; eff, ok = sent[Refetch](s) {
				s.step(Refetched{Version: "200", Items: []Item{good(eff.Key, "150", "")}})
				s.step(Tick{})
			}
			s.step(event(object.Deleted, Item{Meta: object.Meta{ResourceVersion: "210"}, Err: errBadField}))
			for _, ok := sent[Cancel](s); !ok; _, ok = sent[Cancel](s) {
				if _, ok := sent[Refetch](s); ok {
					s.step(Refetched{Version: "220", Items: []Item{good("5", "150", "")}})
				}
				s.tick()
			}
			if _, ok := sent[List](s); !ok {
				t.Errorf("the watch ended at %v for %v, want it to continue until the list", s.at, s.effects)
			}
		})
	}
}
