package reflector_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// told is a server that lists two objects, and asks what is known of them as Resource
// does.
type told struct {
	*scripted

	mu      sync.Mutex
	lists   []whole // to come; the last comes again
	asked   []string
	reused  []bool // of each list that came: a was the known one
	offered []bool // there was something known to ask for
}

// whole is a list: its version, and those of the objects.
type whole struct{ at, a, b string }

func (s *told) List(_ context.Context, opts metav1.ListOptions) (*source.Page[partial], error) {
	if opts.FieldSelector != "" {
		return nil, apierrors.NewBadRequest("no object can be asked for by itself")
	}
	return s.list(opts, nil)
}

func (s *told) ListParts(
	_ context.Context, opts metav1.ListOptions, known func(key string) (partial, object.Meta, bool), part func(source.Part[partial]) error,
) (*source.Page[partial], error) {
	page, _ := s.list(opts, known) // it never fails
	items := page.Items
	page.Items = nil
	return page, part(source.Part[partial]{Items: items})
}

func (s *told) list(opts metav1.ListOptions, known func(key string) (partial, object.Meta, bool)) (*source.Page[partial], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.lists[0]
	if len(s.lists) > 1 {
		s.lists = s.lists[1:]
	}
	page := &source.Page[partial]{ResourceVersion: list.at}
	add := func(name, version string) (reused bool) {
		obj := newPartial(name, name, version)
		if known != nil {
			if held, meta, ok := known(name); ok && meta.UID == obj.UID && meta.ResourceVersion == version {
				obj, reused = held, true
			}
		}
		page.Items = append(page.Items, obj)
		return reused
	}
	s.asked = append(s.asked, opts.ResourceVersion)
	s.reused, s.offered = append(s.reused, add("a", list.a)), append(s.offered, known != nil)
	add("b", list.b)
	return page, nil
}

func TestRelistReusesWhatTheSinkHolds(t *testing.T) {
	expired := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
	gone := func(_ context.Context, s *told, _ *reflector.Reflector[partial]) error {
		(<-s.streams).events <- expired
		return nil
	}
	asked := func(ctx context.Context, _ *told, r *reflector.Reflector[partial]) error {
		return r.Relist(ctx)
	}
	for name, test := range map[string]struct {
		lists  []whole
		relist func(context.Context, *told, *reflector.Reflector[partial]) error
		asked  []string // the version of each list
		reused []bool
	}{
		"after a 410": {
			lists:  []whole{{"5", "3", "4"}, {"9", "3", "8"}},
			relist: gone,
			asked:  []string{"0", "5"},
			reused: []bool{false, true},
		},
		// Who asks for a list may fear that what the sink holds is wrong.
		"not when asked for": {
			lists:  []whole{{"5", "3", "4"}, {"9", "3", "4"}},
			relist: asked,
			asked:  []string{"0", ""},
			reused: []bool{false, false},
		},
		// The second list is older than the first: the storage was restored, and version 3
		// may be another one now.
		"not from a server that rolled back": {
			lists:  []whole{{"5", "3", "4"}, {"4", "3", "2"}},
			relist: gone,
			asked:  []string{"0", "5", ""},
			reused: []bool{false, true, false},
		},
		"not from a server that rolled back, when asked for": {
			lists:  []whole{{"5", "3", "4"}, {"4", "3", "2"}},
			relist: asked,
			asked:  []string{"0", ""},
			reused: []bool{false, false},
		},
		// The storage was restored and has come past the first list since: what b was
		// at 2 says that what a was at 3 may be another one now.
		"not from a server that rolled back and on": {
			lists:  []whole{{"5", "3", "4"}, {"9", "3", "2"}},
			relist: gone,
			asked:  []string{"0", "5", ""},
			reused: []bool{false, true, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &told{scripted: newScripted(), lists: test.lists}
				sink := store.New(store.Options[partial]{})
				r := reflector.New(server, reflector.InMemory(sink), reflector.Options{})
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				synctest.Wait()
				first, _ := sink.Get("a")
				if err := test.relist(ctx, server, r); err != nil {
					t.Error(err)
				}
				<-time.After(30 * time.Second) // of the bubble: over every delay, and before the watch is too idle
				synctest.Wait()
				stop()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if !slices.Equal(server.reused, test.reused) {
					t.Errorf("reused in the lists: %v, want %v", server.reused, test.reused)
				}
				if !slices.Equal(server.asked, test.asked) {
					t.Errorf("lists were asked for at %q, want %q", server.asked, test.asked)
				}
				if server.offered[0] {
					t.Error("something was known before the first list")
				}
				last, _ := sink.Get("a")
				if reused := test.reused[len(test.reused)-1]; (first == last) != reused {
					t.Errorf("the sink holds the same object: %v, want %v", first == last, reused)
				}
			})
		})
	}
}

// A list has an object twice, and one of the two cannot be decoded. The one that can be decoded is
// the newest that the sink can have.
func TestItemThatIsKeptBesideOneThatIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := undecodable(object.Meta{Key: "a", UID: "u", ResourceVersion: "7"})
		pages := []*source.Page[partial]{
			{ResourceVersion: "5", Items: []partial{newPartial("a", "u", "3")}},
			{ResourceVersion: "9", Errors: []*source.ObjectError{bad}, Items: []partial{newPartial("a", "u", "8")}},
		}
		server := newScripted()
		server.list = func(metav1.ListOptions) (*source.Page[partial], error) {
			if len(pages) == 0 {
				return nil, apierrors.NewBadRequest("there are two lists")
			}
			page := pages[0]
			pages = pages[1:]
			return page, nil
		}
		server.ask = func(context.Context, string) (*source.Page[partial], error) {
			return nil, apierrors.NewBadRequest("nobody is asked for")
		}
		held := store.New(store.Options[partial]{})
		stop := running(t, reflector.New(server, reflector.InMemory(held), reflector.Options{}))
		(<-server.streams).events <- &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
		later(time.Minute)
		if got, _ := held.Get("a"); got == nil || got.ResourceVersion != "8" {
			t.Errorf("the store has %v, want the object at 8", got)
		}
		stop()
	})
}
