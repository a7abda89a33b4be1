package informer_test

import (
	"cmp"
	"context"
	"errors"
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
	metav1.ObjectMeta `json:"metadata"`
	Value             int `json:"value"`
}

// fake is an API server in memory, with one resource, a log of its events, and a window on that log.
type fake struct {
	mu      sync.Mutex
	version int
	serial  int // of UIDs
	objects map[string]*thing
	log     []listwatch.Event[*thing]
	oldest  int           // a watch from an older version is refused
	more    chan struct{} // closed when there is something new
	cut     chan struct{} // closed to end the open watches
	lists   int

	failing error // what requests are answered with; nil if they succeed

	transform func(*thing) // of what is sent; nil if there is none
}

func newFake(keys ...string) *fake {
	f := &fake{objects: map[string]*thing{}, more: make(chan struct{}), cut: make(chan struct{})}
	for _, key := range keys {
		f.set(key, 0)
	}
	return f
}

// fail answers all requests with an error, or none if it is nil.
func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = err
}

// set creates or updates an object.
func (f *fake) set(key string, value int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	typ, uid := listwatch.Modified, types.UID("")
	if old := f.objects[key]; old != nil {
		uid = old.UID
	} else {
		f.serial++
		typ, uid = listwatch.Added, types.UID(fmt.Sprint("uid-", f.serial))
	}
	f.objects[key] = f.object(key, uid, value)
	f.emit(typ, f.objects[key])
}

// remove deletes an object, if it is there.
func (f *fake) remove(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.objects[key]; old != nil {
		delete(f.objects, key)
		f.emit(listwatch.Deleted, f.object(key, old.UID, old.Value))
	}
}

func (f *fake) object(key string, uid types.UID, value int) *thing {
	f.version++
	namespace, name, _ := object.SplitKey(key)
	obj := &thing{Value: value}
	obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion = namespace, name, uid, strconv.Itoa(f.version)
	return obj
}

// emit appends to the log. It needs mu.
func (f *fake) emit(typ listwatch.Type, obj *thing) {
	f.log = append(f.log, listwatch.Event[*thing]{
		Type:   typ,
		Object: f.transformed(obj),
		Meta:   listwatch.Meta{Key: object.Key(obj), UID: obj.UID, ResourceVersion: obj.ResourceVersion},
	})
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fake) transformed(obj *thing) *thing {
	if f.transform == nil {
		return obj
	}
	out := *obj
	f.transform(&out)
	return &out
}

// bookmark says that nothing is missing up to now.
func (f *fake) bookmark() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	version := strconv.Itoa(f.version)
	f.log = append(f.log, listwatch.Event[*thing]{Type: listwatch.Bookmark, Meta: listwatch.Meta{ResourceVersion: version}})
	close(f.more)
	f.more = make(chan struct{})
	return version
}

// gap ends the watches, has f change things while nobody watches, and forgets what happened, so that the resource has to
// be listed again.
func (f *fake) gap(change func()) {
	f.mu.Lock()
	close(f.cut)
	f.cut = make(chan struct{})
	f.version++
	f.oldest = 1 << 30 // until the change has been made
	f.mu.Unlock()
	change()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	f.oldest = f.version
}

// restore takes the server back to what it held at a version, as the restoration of a backup does, and ends the watches.
func (f *fake) restore(version int, objects ...*thing) {
	f.gap(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.version, f.log, f.objects = version-1, nil, map[string]*thing{} // the end of a gap is a version
		for _, obj := range objects {
			f.objects[object.Key(obj)] = obj
		}
	})
}

// listed returns the number of lists so far.
func (f *fake) listed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lists
}

// keys and values, sorted by key, as the tests compare them.
func (f *fake) state() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return describe(f.items())
}

func describe(items []*thing) []string {
	var out []string
	for _, obj := range items {
		out = append(out, fmt.Sprintf("%s %s %d", object.Key(obj), obj.UID, obj.Value))
	}
	return out
}

// items needs mu.
func (f *fake) items() []*thing {
	items := slices.Collect(maps.Values(f.objects))
	slices.SortFunc(items, func(a, b *thing) int { return cmp.Compare(object.Key(a), object.Key(b)) })
	return items
}

// List counts lists of everything; a reflector also asks for single objects.
func (f *fake) List(_ context.Context, opts metav1.ListOptions) (*listwatch.Page[*thing], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing != nil {
		return nil, f.failing
	}
	if opts.FieldSelector == "" {
		f.lists++
	}
	items, version := f.items(), strconv.Itoa(f.version)
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		at, _ := strconv.Atoi(opts.ResourceVersion)
		if at < f.oldest || at > f.version {
			return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", at, f.oldest))
		}
		items, version = f.at(at), opts.ResourceVersion
	}
	if opts.FieldSelector != "" {
		selector := fields.ParseSelectorOrDie(opts.FieldSelector)
		items = slices.DeleteFunc(items, func(obj *thing) bool {
			return !selector.Matches(fields.Set{"metadata.namespace": obj.Namespace, "metadata.name": obj.Name})
		})
	}
	for i, obj := range items {
		again := *f.transformed(obj) // decoded anew for every list, as over HTTP
		items[i] = &again
	}
	return &listwatch.Page[*thing]{Items: items, ResourceVersion: version}, nil
}

// at returns the objects at a version. It needs mu.
func (f *fake) at(version int) []*thing {
	now := f.objects
	defer func() { f.objects = now }()
	f.objects = map[string]*thing{}
	for key, obj := range now {
		if at, _ := strconv.Atoi(obj.ResourceVersion); at <= version {
			f.objects[key] = obj // the log does not have it if it is older than a restored backup
		}
	}
	for _, e := range f.log {
		switch {
		case versionOf(e) > version || e.Type == listwatch.Bookmark:
		case e.Type == listwatch.Deleted:
			delete(f.objects, e.Meta.Key)
		default:
			f.objects[e.Meta.Key] = e.Object
		}
	}
	return f.items()
}

func (f *fake) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Watch[*thing], error) {
	from, err := strconv.Atoi(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing != nil {
		return nil, f.failing
	}
	if from < f.oldest || from > f.version {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, f.oldest))
	}
	// The first newer one and not what follows the last older one: a repeated event has the version that it had.
	next := slices.IndexFunc(f.log, func(e listwatch.Event[*thing]) bool { return versionOf(e) > from })
	if next < 0 {
		next = len(f.log)
	}
	return &stream{fake: f, next: next, done: ctx.Done(), cut: f.cut}, nil
}

func versionOf(e listwatch.Event[*thing]) int {
	v, _ := strconv.Atoi(e.Meta.ResourceVersion)
	return v
}

type stream struct {
	fake      *fake
	next      int
	done, cut <-chan struct{}
}

func (s *stream) Next() (listwatch.Event[*thing], error) {
	for {
		s.fake.mu.Lock()
		more := s.fake.more
		if closed(s.cut) {
			s.fake.mu.Unlock()
			return listwatch.Event[*thing]{}, io.EOF
		}
		if s.next < len(s.fake.log) {
			e := s.fake.log[s.next]
			s.next++
			s.fake.mu.Unlock()
			return e, nil
		}
		s.fake.mu.Unlock()
		select {
		case <-more:
		case <-s.cut:
		case <-s.done:
			return listwatch.Event[*thing]{}, io.ErrUnexpectedEOF
		}
	}
}

func (s *stream) Close() error { return nil }

// orphan sends a deletion of an object that never was.
func (f *fake) orphan(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emit(listwatch.Deleted, f.object(key, "nobody", 0))
}

// removeUnreadably deletes an object, whose final state cannot be decoded.
func (f *fake) removeUnreadably(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.objects[key]
	delete(f.objects, key)
	f.emit(listwatch.Deleted, f.object(key, old.UID, old.Value))
	e := &f.log[len(f.log)-1]
	e.Object, e.Err = nil, &listwatch.ObjectError{Meta: e.Meta, Err: errors.New("bad field")}
}

// swap deletes an object and makes it again, and sends only the second half.
func (f *fake) swap(key string, value int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key] = f.object(key, "another", value)
	f.emit(listwatch.Added, f.objects[key])
}

// repeat sends an object as it is.
func (f *fake) repeat(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emit(listwatch.Modified, f.objects[key])
}

// corrupt changes an object without an event.
func (f *fake) corrupt(key string, value int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key] = f.object(key, f.objects[key].UID, value)
}
