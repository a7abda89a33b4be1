package reflector_test

import (
	"context"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// After an outage the watch is opened first. The question whether the server is the one it
// was comes beside it, and however long that fails, events are applied.
func TestProbeThatFailsHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted()
		server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
			return pageOf("100", newPartial("x", "u", "90")), nil
		}
		server.ask = func(context.Context, string) (*listwatch.Page[partial], error) {
			return nil, apierrors.NewTimeoutError("etcdserver: request timed out", 0)
		}
		refused := 0
		server.watch = func(opts metav1.ListOptions) error {
			if opts.ResourceVersion == "101" && refused < 1 {
				refused++
				return syscall.ECONNREFUSED
			}
			return nil
		}
		sink := store.New(store.Options[partial]{})
		r := reflector.New(server, sink, reflector.Options{Rand: zero, MinWatchTimeout: 2 * time.Hour})
		running(t, r)
		s := <-server.streams
		s.event(listwatch.Modified, newPartial("x", "u", "101"))
		later(20 * time.Second)
		s.events <- syscall.ECONNRESET
		later(time.Second)
		if len(server.streams) != 1 {
			t.Fatal("no watch a second after the connection was refused")
		}
		s = <-server.streams
		for i, version := range []string{"102", "103", "104"} {
			later(10 * time.Second)
			s.event(listwatch.Modified, newPartial("x", "u", version))
			synctest.Wait()
			if obj, _ := sink.Get("x"); obj.ResourceVersion != version {
				t.Errorf("event %d: x is at %s, want %s", i, obj.ResourceVersion, version)
			}
		}
		lists, asks, _ := server.count()
		if lists != 1 || asks < 3 || asks > 10 {
			t.Errorf("%d lists and %d questions in half a minute, want 1 list and a few questions", lists, asks)
		}
		if want := []string{"100", "101", "101"}; !slices.Equal(server.watches, want) {
			t.Errorf("watches were opened at %q, want %q", server.watches, want)
		}
	})
}

// The newest thing that the server has told of is what the probe asks for. If it could not
// be used, or was refused, or was mended by an answer, or came without a version, the server
// is the same all the same.
func TestProbeKnowsWhatCouldNotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(server *scripted, s *script)
		holds   string // what the server has of x
	}{
		"undecodable": {func(_ *scripted, s *script) { s.undecodable(listwatch.Modified, newPartial("x", "u", "101")) }, "101"},
		"refused":     {func(_ *scripted, s *script) { s.event(listwatch.Modified, newPartial("x", "u", "101")) }, "101"},
		"mended by an answer": {func(_ *scripted, s *script) {
			s.undecodable(listwatch.Modified, newPartial("x", "u", "101"))
			later(30 * time.Second)
			s.bookmark("102")
		}, "102"},
		"without a version": {func(_ *scripted, s *script) { s.event(listwatch.Modified, newPartial("x", "u", "")) }, "99"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newScripted()
				server.list = func(metav1.ListOptions) (*listwatch.Page[partial], error) {
					return pageOf("100", newPartial("x", "u", "90")), nil
				}
				server.ask = func(context.Context, string) (*listwatch.Page[partial], error) {
					return pageOf("102", newPartial("x", "u", c.holds)), nil
				}
				sink := &picky{Store: store.New(store.Options[partial]{}), refuse: name == "refused"}
				r := reflector.New(server, sink, reflector.Options{Rand: zero, Trace: &reflector.Trace{
					Relist: func(e reflector.Relist) { t.Errorf("the server is the same, and everything is listed: %v", e.Err) },
				}})
				running(t, r)
				s := <-server.streams
				c.happens(server, s)
				synctest.Wait()
				s.events <- &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}}
				later(30 * time.Second)
				if _, asks, _ := server.count(); asks == 0 {
					t.Error("nothing was asked for")
				}
			})
		})
	}
}

// picky is a store that may refuse changes.
type picky struct {
	*store.Store[partial]
	refuse bool
}

func (p *picky) Update(obj partial) error {
	if p.refuse {
		return syscall.ENOSPC
	}
	return p.Store.Update(obj)
}
