package reflector_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// partial is an object of the scripted server.
type partial = *metav1.PartialObjectMetadata

func newPartial(name, uid, version string) partial {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

func metaOf(obj partial) object.Meta {
	return object.Meta{Key: object.Key(obj), UID: obj.UID, ResourceVersion: obj.ResourceVersion}
}

// scripted is a server whose answers are functions. Whoever leaves one out does not expect
// to be asked.
type scripted struct {
	list  func(opts metav1.ListOptions) (*source.Page[partial], error)
	ask   func(ctx context.Context, name string) (*source.Page[partial], error) // name is empty for any one object
	watch func(opts metav1.ListOptions) error                                   // refuses a watch; nil lets it open

	streams chan *script // those that were opened, in order

	mu      sync.Mutex
	lists   []time.Time
	asks    []string
	watches []string // the versions they were opened at
}

func newScripted() *scripted {
	return &scripted{
		list:    func(metav1.ListOptions) (*source.Page[partial], error) { return pageOf("100"), nil },
		ask:     func(context.Context, string) (*source.Page[partial], error) { return pageOf("100"), nil },
		watch:   func(metav1.ListOptions) error { return nil },
		streams: make(chan *script, 10_000),
	}
}

func pageOf(version string, items ...partial) *source.Page[partial] {
	page := &source.Page[partial]{Items: items, ResourceVersion: version}
	for _, item := range items {
		page.Metas = append(page.Metas, metaOf(item))
	}
	return page
}

func (s *scripted) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[partial], error) {
	name, asks := strings.CutPrefix(opts.FieldSelector, "metadata.name=")
	if asks || opts.Limit == 1 {
		s.mu.Lock()
		s.asks = append(s.asks, name)
		s.mu.Unlock()
		return s.ask(ctx, name)
	}
	s.mu.Lock()
	s.lists = append(s.lists, time.Now())
	s.mu.Unlock()
	return s.list(opts)
}

func (s *scripted) Watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[partial], error) {
	s.mu.Lock()
	s.watches = append(s.watches, opts.ResourceVersion)
	s.mu.Unlock()
	if err := s.watch(opts); err != nil {
		return nil, err
	}
	stream := &script{ctx: ctx, events: make(chan any)}
	s.streams <- stream
	return stream, nil
}

func (s *scripted) count() (lists, asks, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lists), len(s.asks), len(s.watches)
}

// script is a watch that a test speaks on.
type script struct {
	ctx    context.Context //nolint:containedctx // a stream ends with the context of its request
	events chan any        // source.Event[partial] or error
}

func (s *script) Next() (source.Event[partial], error) {
	select {
	case e := <-s.events:
		if err, ok := e.(error); ok {
			return source.Event[partial]{}, err
		}
		return e.(source.Event[partial]), nil
	case <-s.ctx.Done():
		return source.Event[partial]{}, s.ctx.Err()
	}
}

func (*script) Close() error { return nil }

func (s *script) event(typ object.EventType, obj partial) {
	s.events <- source.Event[partial]{Type: typ, Object: obj, Meta: metaOf(obj)}
}

func (s *script) undecodable(typ object.EventType, obj partial) {
	meta := metaOf(obj)
	s.events <- source.Event[partial]{Type: typ, Meta: meta, Err: undecodable(meta)}
}

func (s *script) bookmark(version string) {
	s.events <- source.Event[partial]{Type: object.Bookmark, Meta: object.Meta{ResourceVersion: version}}
}

func undecodable(meta object.Meta) *source.ObjectError {
	return &source.ObjectError{Meta: meta, Err: errors.New("bad field")}
}

// running starts a reflector and returns how to stop it, which may be called again.
func running(t *testing.T, r *reflector.Reflector[partial]) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx) // context.Canceled
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func zero() float64 { return 0 }
