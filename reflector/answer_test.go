package reflector_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// What an answer brings is told as the event that it stands for. If another object has taken the
// name, then that one was added, whatever became of the one before.
func TestAnswerIsTracedAsTheEventThatItStandsFor(t *testing.T) {
	for name, c := range map[string]struct {
		answer []partial
		want   string
	}{
		"changed": {[]partial{newPartial("x", "u", "109")}, "MODIFIED x u 109"},
		"another": {[]partial{newPartial("x", "v", "109")}, "ADDED x v 109"},
		"gone":    {nil, "DELETED x u 110"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newScripted()
				server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
					return pageOf("100", newPartial("x", "u", "90")), nil
				}
				server.ask = func(context.Context, string) (*source.Page[partial], error) {
					return pageOf("110", c.answer...), nil
				}
				var events []string
				r := reflector.New(server, reflector.InMemory(store.New(store.Options[partial]{})), reflector.Options{
					Rand: zero,
					Trace: &reflector.Trace{Event: func(e reflector.Event) {
						events = append(events, fmt.Sprint(e.Type, " ", e.Key, " ", e.UID, " ", e.ResourceVersion))
					}},
				})
				stop := running(t, r)
				(<-server.streams).undecodable(object.Modified, newPartial("x", "u", "101"))
				later(2 * time.Second)
				stop()
				if !slices.Equal(events, []string{c.want}) {
					t.Errorf("traced %q, want %q", events, c.want)
				}
			})
		})
	}
}
