package reflector_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// marks is a store that writes down what it is told of versions.
type marks struct {
	reflector.Memory[partial]

	mu   sync.Mutex
	told []string
}

func (m *marks) At(version string, _ func() reflector.Point) { m.note("at " + version) }

func (m *marks) note(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, line)
}

func (m *marks) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.told = nil }()
	return strings.Join(m.told, ", ")
}

// onePage answers each list with one page, each list of one object with another, and the watch with a channel.
type onePage struct {
	page   listwatch.Page[*metav1.PartialObjectMetadata]
	asked  listwatch.Page[*metav1.PartialObjectMetadata]
	events chan listwatch.Event[*metav1.PartialObjectMetadata]
	asks   []string        // the field selectors of the lists of one object
	ctx    context.Context //nolint:containedctx // set by the call whose stream it is
}

func (s *onePage) List(_ context.Context, opts metav1.ListOptions) (*listwatch.Page[*metav1.PartialObjectMetadata], error) {
	page := s.page
	if opts.FieldSelector != "" {
		page = s.asked
		s.asks = append(s.asks, opts.FieldSelector)
	}
	return &page, nil
}

func (s *onePage) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Watch[*metav1.PartialObjectMetadata], error) {
	s.ctx = ctx
	return s, nil
}

func (s *onePage) Next() (listwatch.Event[*metav1.PartialObjectMetadata], error) {
	select {
	case e := <-s.events:
		return e, nil
	case <-s.ctx.Done():
		return listwatch.Event[*metav1.PartialObjectMetadata]{}, s.ctx.Err()
	}
}

func (*onePage) Close() error { return nil }

func configMap(name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", ResourceVersion: version}}
}

func event(typ listwatch.Type, obj *metav1.PartialObjectMetadata) listwatch.Event[*metav1.PartialObjectMetadata] {
	meta := listwatch.Meta{Key: obj.Name, UID: obj.UID, ResourceVersion: obj.ResourceVersion}
	return listwatch.Event[*metav1.PartialObjectMetadata]{Type: typ, Object: obj, Meta: meta}
}

// The safe version stays before a change that the sink does not have, while the resume point goes on.
func TestSafeVersionStaysBeforeWhatTheSinkLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &onePage{events: make(chan listwatch.Event[*metav1.PartialObjectMetadata])}
		server.page = listwatch.Page[*metav1.PartialObjectMetadata]{
			ResourceVersion: "10",
			Items:           []*metav1.PartialObjectMetadata{configMap("a", "5"), configMap("b", "6")},
		}
		server.asked = listwatch.Page[*metav1.PartialObjectMetadata]{
			ResourceVersion: "13",
			Items:           []*metav1.PartialObjectMetadata{configMap("a", "11")},
		}
		sink := &marks{Memory: reflector.InMemory(store.New(store.Options[partial]{}))}
		r := reflector.New(server, reflector.Sink[partial](sink), reflector.Options{Rand: func() float64 { return 0 }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()

		expect := func(resume, safe, told string) {
			t.Helper()
			synctest.Wait()
			if s := r.Status(); s.ResourceVersion != resume || s.SafeVersion != safe {
				t.Errorf("the resume point is %q and the safe version %q, want %q and %q", s.ResourceVersion, s.SafeVersion, resume, safe)
			}
			if got := sink.take(); got != told {
				t.Errorf("the sink was told %q, want %q", got, told)
			}
		}
		expect("10", "10", "at 10")

		bad := event(listwatch.Modified, configMap("a", "11"))
		bad.Object, bad.Err = nil, &listwatch.ObjectError{Meta: bad.Meta, Err: errors.New("cannot be decoded")}
		server.events <- bad
		expect("11", "10", "at 11")
		server.events <- event(listwatch.Modified, configMap("b", "12"))
		expect("12", "10", "at 12")

		<-time.After(2 * time.Second)
		expect("12", "12", "at 12")

		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}
