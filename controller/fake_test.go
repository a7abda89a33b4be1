package controller_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
)

// thing is the object type of the tests.
type thing struct {
	metav1.ObjectMeta
	About []string // keys of other things
}

// ownedBy is a change of a thing: its controlling owner is a Shop of this name, or, if kind says so, something else.
func ownedBy(apiVersion, kind, name string) func(*thing) {
	yes := true
	return func(obj *thing) {
		obj.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "example.com/v1", Kind: "Shop", Name: "not-controlling"},
			{APIVersion: apiVersion, Kind: kind, Name: name, Controller: &yes},
		}
	}
}

func shop(name string) func(*thing) { return ownedBy("example.com/v1", "Shop", name) }

// fake is an API server in memory, with one resource.
type fake struct {
	mu      sync.Mutex
	version int
	objects map[string]*thing
	log     []listwatch.Event[*thing]
	oldest  int           // a watch from an older version is refused
	more    chan struct{} // closed when the log grows, or a watch has to end
	cut     int           // raised to end the open watches
	refuse  error         // of lists
}

func newFake(keys ...string) *fake {
	f := &fake{version: 1, objects: map[string]*thing{}, more: make(chan struct{})}
	for _, key := range keys {
		f.set(key, func(*thing) {})
	}
	return f
}

// set creates or updates an object.
func (f *fake) set(key string, change func(*thing)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	obj, typ := &thing{}, listwatch.Added
	if old := f.objects[key]; old != nil {
		*obj, typ = *old, listwatch.Modified
	} else {
		obj.UID = types.UID(fmt.Sprint("uid-", f.version))
	}
	obj.Namespace, obj.Name, _ = object.SplitKey(key)
	change(obj)
	f.objects[key] = obj
	f.emit(typ, obj)
}

func (f *fake) remove(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	obj := *f.objects[key]
	delete(f.objects, key)
	f.emit(listwatch.Deleted, &obj)
}

// emit gives an object the next version, and appends to the log. It needs mu.
func (f *fake) emit(typ listwatch.Type, obj *thing) {
	f.version++
	obj.ResourceVersion = strconv.Itoa(f.version)
	meta := listwatch.Meta{Key: object.Key(obj), UID: obj.UID, ResourceVersion: obj.ResourceVersion}
	f.log = append(f.log, listwatch.Event[*thing]{Type: typ, Object: obj, Meta: meta})
	f.wake()
}

// wake needs mu.
func (f *fake) wake() {
	close(f.more)
	f.more = make(chan struct{})
}

// unseen removes an object while nobody watches, and forgets the event.
func (f *fake) unseen(key string) {
	f.mu.Lock()
	f.cut++
	f.oldest = 1 << 30
	f.wake()
	f.mu.Unlock()
	f.remove(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	f.oldest = f.version
}

func (f *fake) List(_ context.Context, opts metav1.ListOptions) (*listwatch.Page[*thing], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	page := &listwatch.Page[*thing]{ResourceVersion: strconv.Itoa(f.version)}
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		obj := f.objects[key]
		if selector := fields.ParseSelectorOrDie(opts.FieldSelector); selector.Matches(fields.Set{"metadata.namespace": obj.Namespace, "metadata.name": obj.Name}) {
			page.Items = append(page.Items, obj)
		}
	}
	return page, nil
}

func (f *fake) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Watch[*thing], error) {
	from, err := strconv.Atoi(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if from < f.oldest {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	return &stream{fake: f, from: from, cut: f.cut, ctx: ctx.Done()}, nil
}

type stream struct {
	fake      *fake
	from, cut int
	ctx       <-chan struct{}
}

func (s *stream) Next() (listwatch.Event[*thing], error) {
	for {
		s.fake.mu.Lock()
		more, cut := s.fake.more, s.fake.cut
		for _, e := range s.fake.log {
			if v, _ := strconv.Atoi(e.Meta.ResourceVersion); v > s.from && cut == s.cut {
				s.from = v
				s.fake.mu.Unlock()
				return e, nil
			}
		}
		s.fake.mu.Unlock()
		if cut != s.cut {
			return listwatch.Event[*thing]{}, io.EOF
		}
		select {
		case <-more:
		case <-s.ctx:
			return listwatch.Event[*thing]{}, io.ErrUnexpectedEOF
		}
	}
}

func (s *stream) Close() error { return nil }
