// Package memserver is an API server in memory for tests: a [source.ListWatcher] without HTTP, with
// one resource. It remembers its events, so it can answer a list or a watch at any version of its
// window.
//
//	server := memserver.New[*corev1.Pod]()
//	server.Set("shop/tea", &corev1.Pod{})
//	server.Gap(func() { server.Remove("shop/tea") }) // while nobody watches
//
// It never waits for real time, so it works in a synctest bubble. What has to do with HTTP,
// encodings or selectors needs apitest.
package memserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// errBad is why the last state of an object that was removed by RemoveBadly cannot be decoded.
var errBad = errors.New("bad field")

// Server is a server of objects of one type, which is a pointer to a struct. The fields may be set
// while nobody asks.
type Server[T metav1.Object] struct {
	// Prefix stands before the number of each version. With one, versions are opaque.
	Prefix string

	// Transform changes what is sent of an object. If nil, objects are sent as they are.
	Transform func(T)

	// Bad returns why an object that is sent cannot be decoded. If nil, every object can be.
	Bad func(T) error

	// Asked is called before a request is answered, and may wait, change the server, or return what
	// to answer with. Verb is "list", "watch", or "ask" for a list of one object at most. If nil,
	// all requests are answered at once.
	Asked func(ctx context.Context, verb string) error

	mu      sync.Mutex
	failing error // what requests are answered with; nil if they succeed
	lists   int
	version int
	serial  int // of UIDs
	objects map[string]T
	log     []entry[T]
	oldest  int           // the window begins here
	more    chan struct{} // closed when there is something new
	cut     chan struct{} // closed to end the open watches
}

// entry is an event. A repeated one has the version that it had.
type entry[T any] struct {
	source.Event[T]
	version int
	object  T // as the server has it; none for a bookmark
}

// New returns a server that has nothing, at version 0.
func New[T metav1.Object]() *Server[T] {
	return &Server[T]{objects: map[string]T{}, more: make(chan struct{}), cut: make(chan struct{})}
}

func (s *Server[T]) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// Set creates or updates an object. The server keeps a copy of obj, with a name, a UID and a
// version.
func (s *Server[T]) Set(key string, obj T) {
	s.locked(func() {
		typ := object.Modified
		uid, exists := s.uid(key)
		if !exists {
			s.serial++
			typ, uid = object.Added, types.UID(fmt.Sprint("uid-", s.serial))
		}
		s.objects[key] = s.next(key, uid, obj)
		s.emit(typ, s.objects[key], nil)
	})
}

// Swap deletes an object and makes another one under its name, and sends only the second half.
func (s *Server[T]) Swap(key string, obj T) {
	s.locked(func() {
		s.objects[key] = s.next(key, "another", obj)
		s.emit(object.Added, s.objects[key], nil)
	})
}

// Corrupt changes an object without an event, and returns what it is then.
func (s *Server[T]) Corrupt(key string, obj T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid, _ := s.uid(key)
	s.objects[key] = s.next(key, uid, obj)
	return s.objects[key]
}

// Repeat sends an object again as it is.
func (s *Server[T]) Repeat(key string) {
	s.locked(func() { s.emit(object.Modified, s.objects[key], nil) })
}

// Remove deletes an object, if it is there.
func (s *Server[T]) Remove(key string) { s.remove(key, nil) }

// RemoveBadly deletes an object, and its final state cannot be decoded.
func (s *Server[T]) RemoveBadly(key string) { s.remove(key, errBad) }

func (s *Server[T]) remove(key string, bad error) {
	s.locked(func() {
		if old, exists := s.objects[key]; exists {
			delete(s.objects, key)
			s.emit(object.Deleted, s.next(key, old.GetUID(), old), bad)
		}
	})
}

// Orphan sends a deletion of an object that never was.
func (s *Server[T]) Orphan(key string, obj T) {
	s.locked(func() { s.emit(object.Deleted, s.next(key, "nobody", obj), nil) })
}

// Bookmark says that nothing is missing up to a new version, which it returns.
func (s *Server[T]) Bookmark() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	meta := object.Meta{ResourceVersion: s.format(s.version)}
	s.append(entry[T]{Event: source.Event[T]{Type: object.Bookmark, Meta: meta}, version: s.version})
	return meta.ResourceVersion
}

// Fail answers all requests with an error, or none if it is nil. Open watches go on.
func (s *Server[T]) Fail(err error) { s.locked(func() { s.failing = err }) }

// Cut ends the open watches.
func (s *Server[T]) Cut() { s.locked(s.closeWatches) }

// Gap ends the watches, has the server change while nobody watches, and forgets what happened, so
// that clients have to list again.
func (s *Server[T]) Gap(change func()) {
	s.locked(func() {
		s.closeWatches()
		s.version++
		s.oldest = math.MaxInt // until the change has been made
	})
	change()
	s.locked(func() {
		s.version++
		s.oldest = s.version
	})
}

// Backup returns the version of the server, and the objects that it has.
func (s *Server[T]) Backup() (version int, objects []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, sorted(s.objects)
}

// Restore takes the server back to what it had at a version, as the restoration of a backup does,
// and ends the watches. It knows no event from before, and its window begins at that version.
func (s *Server[T]) Restore(version int, objects ...T) {
	s.locked(func() {
		s.closeWatches()
		s.version, s.oldest, s.log, s.objects = version, version, nil, map[string]T{}
		for _, obj := range objects {
			s.objects[object.Key(obj)] = obj
		}
	})
}

// SkipTo makes a version the present one.
func (s *Server[T]) SkipTo(version int) { s.locked(func() { s.version = version }) }

// SetOldest has the window begin at a version.
func (s *Server[T]) SetOldest(version int) { s.locked(func() { s.oldest = version }) }

// Lists returns how many lists of everything were answered.
func (s *Server[T]) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// Get returns an object.
func (s *Server[T]) Get(key string) (obj T, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj, exists = s.objects[key]
	return obj, exists
}

// Objects returns all objects, by key.
func (s *Server[T]) Objects() []T {
	_, objects := s.Backup()
	return objects
}

// What follows needs mu.

func (s *Server[T]) format(version int) string { return s.Prefix + strconv.Itoa(version) }

func (s *Server[T]) number(version string) (int, error) {
	return strconv.Atoi(strings.TrimPrefix(version, s.Prefix))
}

// within returns a version of the window, or why the version is none.
func (s *Server[T]) within(version string) (int, error) {
	at, err := s.number(version)
	if err != nil {
		return 0, apierrors.NewBadRequest(err.Error())
	}
	if at < s.oldest || at > s.version {
		return 0, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", at, s.oldest))
	}
	return at, nil
}

func (s *Server[T]) uid(key string) (uid types.UID, exists bool) {
	old, exists := s.objects[key]
	if exists {
		uid = old.GetUID()
	}
	return uid, exists
}

// next returns an object at the next version.
func (s *Server[T]) next(key string, uid types.UID, obj T) T {
	s.version++
	obj = clone(obj)
	namespace, name, _ := object.SplitKey(key)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(uid)
	obj.SetResourceVersion(s.format(s.version))
	return obj
}

func (s *Server[T]) emit(typ object.EventType, obj T, bad error) {
	event := source.Event[T]{Type: typ, Meta: metaOf(obj)}
	version, _ := s.number(event.Meta.ResourceVersion) // the server gave it
	sent, err := s.sent(obj)
	if err = cmp.Or(err, bad); err == nil {
		event.Object = sent
	} else {
		event.Err = &source.ObjectError{Meta: event.Meta, Err: err}
	}
	s.append(entry[T]{event, version, obj})
}

func (s *Server[T]) append(e entry[T]) {
	s.log = append(s.log, e)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *Server[T]) closeWatches() {
	close(s.cut)
	s.cut = make(chan struct{})
}

// sent returns what a client decodes: another copy each time, as over HTTP.
func (s *Server[T]) sent(obj T) (T, error) {
	obj = clone(obj)
	if s.Bad != nil {
		if err := s.Bad(obj); err != nil {
			return obj, err
		}
	}
	if s.Transform != nil {
		s.Transform(obj)
	}
	return obj, nil
}

func (s *Server[T]) at(version int) map[string]T {
	then := map[string]T{}
	for key, obj := range s.objects {
		if at, _ := s.number(obj.GetResourceVersion()); at <= version {
			then[key] = obj // the log does not have it if it is older than a restored backup
		}
	}
	for _, e := range s.log {
		switch {
		case e.version > version || e.Type == object.Bookmark:
		case e.Type == object.Deleted:
			delete(then, e.Meta.Key)
		default:
			then[e.Meta.Key] = e.object
		}
	}
	return then
}

func sorted[T any](objects map[string]T) []T {
	items := make([]T, 0, len(objects))
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		items = append(items, objects[key])
	}
	return items
}

func metaOf[T metav1.Object](obj T) object.Meta {
	return object.Meta{Key: object.Key(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}
}

// clone returns a copy of the struct that obj points to.
func clone[T any](obj T) T {
	from := reflect.ValueOf(obj).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	return to.Interface().(T)
}
