package memserver

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/relist-go/relist/listwatch/source"
)

// List implements source.ListWatcher. A list is of the present, or of the version that it asks for
// exactly.
func (s *Server[T]) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[T], error) {
	verb := "list"
	if opts.FieldSelector != "" || opts.Limit == 1 {
		verb = "ask"
	}
	if err := s.asked(ctx, verb); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return nil, s.failing
	}
	version, offset, items := s.version, 0, s.objects
	exactly := opts.ResourceVersion
	if token, ok := strings.CutPrefix(opts.Continue, "from "); ok {
		_, _ = fmt.Sscan(token, &offset, &exactly) // its own token
	}
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact || opts.Continue != "" {
		at, err := s.within(exactly)
		if err != nil {
			return nil, err
		}
		version, items = at, s.at(at)
	}
	if verb == "list" && offset == 0 {
		s.lists++
	}
	return s.page(sorted(items), version, offset, opts), nil
}

// page needs mu.
func (s *Server[T]) page(items []T, version, offset int, opts metav1.ListOptions) *source.Page[T] {
	selector := fields.ParseSelectorOrDie(opts.FieldSelector)
	items = slices.DeleteFunc(items, func(obj T) bool {
		return !selector.Matches(fields.Set{"metadata.namespace": obj.GetNamespace(), "metadata.name": obj.GetName()})
	})
	page := &source.Page[T]{ResourceVersion: s.format(version)}
	items = items[min(offset, len(items)):]
	if limit := int(opts.Limit); limit > 0 && limit < len(items) {
		items = items[:limit]
		page.Continue = fmt.Sprint("from ", offset+limit, " ", page.ResourceVersion)
	}
	for _, obj := range items {
		if obj, err := s.sent(obj); err != nil {
			page.Errors = append(page.Errors, &source.ObjectError{Meta: metaOf(obj), Err: err})
		} else {
			page.Items = append(page.Items, obj)
		}
	}
	return page
}

// Watch implements source.ListWatcher.
func (s *Server[T]) Watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[T], error) {
	if err := s.asked(ctx, "watch"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return nil, s.failing
	}
	from, err := s.within(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	// The first newer one and not what follows the last older one: a repeated event has the version
	// that it had.
	next := slices.IndexFunc(s.log, func(e entry[T]) bool { return e.version > from })
	if next < 0 {
		next = len(s.log)
	}
	return &stream[T]{server: s, next: next, done: ctx.Done(), cut: s.cut}, nil
}

func (s *Server[T]) asked(ctx context.Context, verb string) error {
	if s.Asked == nil {
		return nil
	}
	return s.Asked(ctx, verb)
}

type stream[T metav1.Object] struct {
	server    *Server[T]
	next      int
	done, cut <-chan struct{}
}

// Next implements source.Watch.
func (st *stream[T]) Next() (source.Event[T], error) {
	for {
		event, more := st.event()
		if more == nil {
			return event, nil
		}
		select {
		case <-st.cut:
			return event, io.EOF
		default:
		}
		select {
		case <-more:
		case <-st.cut:
		case <-st.done:
			return event, io.ErrUnexpectedEOF
		}
	}
}

// event returns the next event, or what to wait for.
func (st *stream[T]) event() (event source.Event[T], more <-chan struct{}) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	if st.cut != (<-chan struct{})(st.server.cut) || st.next >= len(st.server.log) {
		return event, st.server.more
	}
	st.next++
	return st.server.log[st.next-1].Event, nil
}

// Close implements source.Watch.
func (*stream[T]) Close() error { return nil }
