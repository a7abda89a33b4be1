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

// told is a server that lists one object, and asks what is known of it as Resource
// does. Each of its lists is at the next of its versions; its watches are cut with an
// error by cut.
type told struct {
	mu       sync.Mutex
	versions []string // of the lists to come
	reused   []bool   // of each list that came: the object was the known one
	offered  []bool   // there was something known to ask for
	cut      chan error
}

func (s *told) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[*metav1.PartialObjectMetadata], error) {
	return s.ListKnown(ctx, opts, nil)
}

func (s *told) ListKnown(_ context.Context, _ metav1.ListOptions, known listwatch.Known[*metav1.PartialObjectMetadata]) (*listwatch.Page[*metav1.PartialObjectMetadata], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := &listwatch.Page[*metav1.PartialObjectMetadata]{ResourceVersion: s.versions[0]}
	if len(s.versions) > 1 {
		s.versions = s.versions[1:]
	}
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID("u"), ResourceVersion: "3"}}
	if known != nil {
		if held, meta, ok := known("a"); ok && meta.UID == obj.UID && meta.ResourceVersion == obj.ResourceVersion {
			obj, page.Reused = held, 1
		}
	}
	page.Items = append(page.Items, obj)
	s.reused, s.offered = append(s.reused, page.Reused > 0), append(s.offered, known != nil)
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
	for name, test := range map[string]struct {
		versions []string // of the lists
		relist   func(context.Context, *told, *reflector.Reflector[*metav1.PartialObjectMetadata]) error
		reused   []bool
	}{
		"after a 410": {
			versions: []string{"5", "9"},
			relist: func(_ context.Context, s *told, _ *reflector.Reflector[*metav1.PartialObjectMetadata]) error {
				s.cut <- expired
				return nil
			},
			reused: []bool{false, true},
		},
		"when asked for": {
			versions: []string{"5", "9"},
			relist: func(ctx context.Context, _ *told, r *reflector.Reflector[*metav1.PartialObjectMetadata]) error {
				return r.Relist(ctx)
			},
			reused: []bool{false, true},
		},
		// The second list is older than the first: the storage was restored, and version 3
		// may be another one now. It is asked for again, decoded whole, and so is the one
		// that the reflector asks for then.
		"not from a server that went back": {
			versions: []string{"5", "4"},
			relist: func(_ context.Context, s *told, _ *reflector.Reflector[*metav1.PartialObjectMetadata]) error {
				s.cut <- expired
				return nil
			},
			reused: []bool{false, true, false, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &told{versions: test.versions, cut: make(chan error)}
				sink := store.New(store.Options[*metav1.PartialObjectMetadata]{})
				r := reflector.New(server, sink, reflector.Options{})
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				synctest.Wait()
				first, _ := sink.Get("a")
				if err := test.relist(ctx, server, r); err != nil {
					t.Error(err)
				}
				<-time.After(time.Minute) // of the bubble: over every pause
				synctest.Wait()
				stop()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if !slices.Equal(server.reused, test.reused) {
					t.Errorf("reused in the lists: %v, want %v", server.reused, test.reused)
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
