package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

type pom = *metav1.PartialObjectMetadata

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

// points is a store that writes down what it is told of points.
type points struct{ marks }

func (p *points) At(version string, point func() reflector.Point) {
	at := point()
	line := "at " + version + ", point " + at.Version
	for _, n := range at.Newest {
		line += fmt.Sprintf(" %s@%s", n.Meta.Key, n.Meta.ResourceVersion)
		if n.Gone {
			line += " gone"
		}
	}
	if len(at.Doubts) > 0 {
		line += " in doubt: " + strings.Join(at.Doubts, " ")
	}
	p.note(line)
}

func (p *points) Apply(c reflector.Change[pom]) error {
	if c.How == protocol.Resumed {
		p.note("resumed")
	}
	return p.Memory.Apply(c)
}

func newPoints(objects ...pom) *points {
	held := store.New(store.Options[pom]{})
	for _, obj := range objects {
		_ = held.Add(obj)
	}
	return &points{marks{Memory: reflector.InMemory(held)}}
}

// follow runs a reflector until stop is called.
func follow(t *testing.T, server *onePage, sink reflector.Sink[pom], start reflector.Point) (r *reflector.Reflector[pom], stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r = reflector.New(server, sink, reflector.Options{Start: start, Rand: func() float64 { return 0 }})
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		t.Helper()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	}
}

// A sink is told where it can be saved, and what is in quarantine is in doubt there.
func TestSinkIsToldWhereItCanBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &onePage{events: make(chan listwatch.Event[pom])}
		server.page = listwatch.Page[pom]{ResourceVersion: "10", Items: []pom{configMap("a", "5"), configMap("b", "6")}}
		server.asked = listwatch.Page[pom]{ResourceVersion: "20", Items: []pom{configMap("a", "11")}}
		sink := newPoints()
		_, stop := follow(t, server, sink, reflector.Point{})
		told := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := sink.take(); got != want {
				t.Errorf("the sink was told %q\nwant %q", got, want)
			}
		}
		told("at 10, point 10 b@6 a@5")
		bad := event(listwatch.Modified, configMap("a", "11"))
		bad.Object, bad.Err = nil, &listwatch.ObjectError{Meta: bad.Meta, Err: errors.New("cannot be decoded")}
		server.events <- bad
		told("at 11, point 11 a@11 b@6 a@5 in doubt: a")
		server.events <- event(listwatch.Deleted, configMap("b", "12"))
		told("at 12, point 12 b@12 gone a@11 b@6 a@5 in doubt: a")

		// An answer as of 20 is ahead of the watch, so that the key stays in doubt until the watch is there.
		<-time.After(2 * time.Second)
		told("at 12, point 12 b@12 gone a@11 b@6 a@5 in doubt: a")
		server.events <- listwatch.Event[pom]{Type: listwatch.Bookmark, Meta: listwatch.Meta{ResourceVersion: "20"}}
		told("at 20, point 20 b@12 gone a@11 b@6 a@5")
		stop()
	})
}

// Without a word on which objects are the newest, the newest that the sink holds at or below the version is asked for, and those above
// it are in doubt.
func TestNewestObjectsAreLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &onePage{events: make(chan listwatch.Event[pom])}
		server.page.ResourceVersion = "never listed"
		server.asked = listwatch.Page[pom]{ResourceVersion: "40", Items: []pom{configMap("c", "30")}}
		sink := newPoints(configMap("a", "5"), configMap("b", "31"), configMap("c", "30"), configMap("d", "7"))
		r, stop := follow(t, server, sink, reflector.Point{Version: "30"})
		synctest.Wait()
		if got, want := strings.Join(server.asks, " "), "metadata.name=c"; got != want {
			t.Errorf("asked for %q, want %q", got, want)
		}
		if q := r.Status().Quarantined; len(q) != 1 || q[0].Meta.Key != "b" {
			t.Errorf("in quarantine is %v, want b", q)
		}
		stop()
	})
}

// A reflector cannot go on with a sink of which it knows nothing.
func TestStartNeedsASinkThatTells(t *testing.T) {
	sink := reflector.Sink[pom](struct{ reflector.Sink[pom] }{newPoints()})
	r := reflector.New(&onePage{}, sink, reflector.Options{Start: reflector.Point{Version: "30"}})
	if err := r.Run(t.Context()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}
