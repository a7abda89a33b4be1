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
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// told is a server that lists two objects, and asks what is known of them as Resource
// does. Its watches are cut with an error by cut.
type told struct {
	mu      sync.Mutex
	lists   []whole // to come; the last comes again
	asked   []string
	reused  []bool // of each list that came: a was the known one
	offered []bool // there was something known to ask for
	cut     chan error
}

// whole is a list: its version, and those of the objects.
type whole struct{ at, a, b string }

func (s *told) List(_ context.Context, opts metav1.ListOptions) (*listwatch.Page[*metav1.PartialObjectMetadata], error) {
	if opts.FieldSelector != "" {
		return nil, apierrors.NewBadRequest("no object can be asked for by itself")
	}
	return s.list(opts, nil)
}

func (s *told) ListParts(
	_ context.Context, opts metav1.ListOptions, known func(key string) (partial, listwatch.Meta, bool), part func(listwatch.Part[partial]) error,
) (*listwatch.Page[partial], error) {
	page, _ := s.list(opts, known) // it never fails
	items := page.Items
	page.Items = nil
	return page, part(listwatch.Part[partial]{Items: items})
}

func (s *told) list(opts metav1.ListOptions, known func(key string) (partial, listwatch.Meta, bool)) (*listwatch.Page[partial], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.lists[0]
	if len(s.lists) > 1 {
		s.lists = s.lists[1:]
	}
	page := &listwatch.Page[*metav1.PartialObjectMetadata]{ResourceVersion: list.at}
	add := func(name, version string) (reused bool) {
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}}
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

func (s *told) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Watch[*metav1.PartialObjectMetadata], error) {
	return &cutWatch{ctx: ctx, cut: s.cut}, nil
}

type cutWatch struct {
	ctx context.Context //nolint:containedctx // a stream ends with the context of its request
	cut chan error
}

func (w *cutWatch) Next() (listwatch.Event[*metav1.PartialObjectMetadata], error) {
	var none listwatch.Event[*metav1.PartialObjectMetadata]
	select {
	case err := <-w.cut:
		return none, err
	case <-w.ctx.Done():
		return none, w.ctx.Err()
	}
}

func (*cutWatch) Close() error { return nil }

func TestRelistReusesWhatTheSinkHolds(t *testing.T) {
	expired := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
	gone := func(_ context.Context, s *told, _ *reflector.Reflector[*metav1.PartialObjectMetadata]) error {
		s.cut <- expired
		return nil
	}
	asked := func(ctx context.Context, _ *told, r *reflector.Reflector[*metav1.PartialObjectMetadata]) error {
		return r.Relist(ctx)
	}
	for name, test := range map[string]struct {
		lists  []whole
		relist func(context.Context, *told, *reflector.Reflector[*metav1.PartialObjectMetadata]) error
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
		"not from a server that went back": {
			lists:  []whole{{"5", "3", "4"}, {"4", "3", "2"}},
			relist: gone,
			asked:  []string{"0", "5", ""},
			reused: []bool{false, true, false},
		},
		"not from a server that went back, when asked for": {
			lists:  []whole{{"5", "3", "4"}, {"4", "3", "2"}},
			relist: asked,
			asked:  []string{"0", ""},
			reused: []bool{false, false},
		},
		// The storage was restored and has come past the first list since: what b was
		// at 2 says that what a was at 3 may be another one now.
		"not from a server that went back and on": {
			lists:  []whole{{"5", "3", "4"}, {"9", "3", "2"}},
			relist: gone,
			asked:  []string{"0", "5", ""},
			reused: []bool{false, true, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &told{lists: test.lists, cut: make(chan error)}
				sink := store.New(store.Options[*metav1.PartialObjectMetadata]{})
				r := reflector.New(server, reflector.InMemory(sink), reflector.Options{})
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				synctest.Wait()
				first, _ := sink.Get("a")
				if err := test.relist(ctx, server, r); err != nil {
					t.Error(err)
				}
				<-time.After(30 * time.Second) // of the bubble: over every pause, and before the watch is too silent
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

// A list has an object twice, and one of the two cannot be decoded. The one that can be decoded is the newest that the sink can have.
func TestItemThatIsKeptBesideOneThatIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := func(version string) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: version}}
		}
		bad := &listwatch.ObjectError{Meta: listwatch.Meta{Key: "a", UID: "u", ResourceVersion: "7"}, Err: errors.New("bad field")}
		pages := []*listwatch.Page[*metav1.PartialObjectMetadata]{
			{ResourceVersion: "5", Items: []*metav1.PartialObjectMetadata{object("3")}},
			{ResourceVersion: "9", Errors: []*listwatch.ObjectError{bad}, Items: []*metav1.PartialObjectMetadata{object("8")}},
		}
		cut := make(chan error, 1)
		cut <- &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
		server := listwatch.Funcs[*metav1.PartialObjectMetadata]{
			ListFunc: func(_ context.Context, opts metav1.ListOptions) (*listwatch.Page[*metav1.PartialObjectMetadata], error) {
				if opts.FieldSelector != "" || len(pages) == 0 {
					return nil, apierrors.NewBadRequest("nobody is asked for")
				}
				page := pages[0]
				pages = pages[1:]
				return page, nil
			},
			WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (listwatch.Watch[*metav1.PartialObjectMetadata], error) {
				return &cutWatch{ctx: ctx, cut: cut}, nil
			},
		}
		held := store.New(store.Options[*metav1.PartialObjectMetadata]{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- reflector.New(server, reflector.InMemory(held), reflector.Options{}).Run(ctx) }()
		<-time.After(time.Minute)
		synctest.Wait()
		if got, _ := held.Get("a"); got == nil || got.ResourceVersion != "8" {
			t.Errorf("the store has %v, want the object at 8", got)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
