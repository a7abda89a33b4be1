package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// Adding an index to a filled store files what is there, and what comes later.
func TestAddIndexer(t *testing.T) {
	s := store.New(store.Options[*testObject]{})
	must(t, s.Replace([]*testObject{newObject("ns", "a", "1", "red"), newObject("ns", "b", "2", "red")}, "2"))
	before := s.Snapshot()
	must(t, s.AddIndexer("color", byColor))
	must(t, s.Add(newObject("ns", "c", "3", "red")))
	must(t, s.Update(newObject("ns", "a", "4", "blue")))

	got, err := s.ByIndex("color", "red")
	must(t, err)
	if diff := cmp.Diff([]string{"ns/b", "ns/c"}, keysOf(got)); diff != "" {
		t.Errorf("red (-want +got):\n%s", diff)
	}
	if _, err := before.ByIndex("color", "red"); !errors.Is(err, store.ErrUnknownIndex) {
		t.Errorf("a snapshot from before the index: %v", err)
	}
}

func TestAddIndexerRefuses(t *testing.T) {
	s := store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"name": byName}})
	for _, test := range []struct {
		name, want string
		fn         func(*testObject) []string
	}{
		{"name", "the name is taken", byName},
		{"nothing", "the function is nil", nil},
	} {
		if err := s.AddIndexer(test.name, test.fn); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("AddIndexer(%s): %v; want %s", test.name, err, test.want)
		}
	}
}

// An index function may call the store, even to write: no lock is held. What is written while
// AddIndexer builds is in the index when it returns, a replacement of everything too.
func TestAddIndexerWhileWriting(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(*store.Store[*testObject]) error
		want  []string
	}{
		{"add", func(s *store.Store[*testObject]) error { return s.Add(newObject("", "z", "9", "red")) }, []string{"a", "b", "z"}},
		{"update", func(s *store.Store[*testObject]) error { return s.Update(newObject("", "a", "9", "blue")) }, []string{"b"}},
		{"delete", func(s *store.Store[*testObject]) error { return s.Delete(newObject("", "a", "9")) }, []string{"b"}},
		{"replace", func(s *store.Store[*testObject]) error {
			return s.Replace([]*testObject{newObject("", "y", "9", "red")}, "9")
		}, []string{"y"}},
		{"replace, and add", func(s *store.Store[*testObject]) error {
			return errors.Join(s.Replace(nil, "9"), s.Add(newObject("", "y", "9", "red")))
		}, []string{"y"}},
		{"the same name", func(s *store.Store[*testObject]) error {
			if err := s.AddIndexer("color", byColor); err == nil {
				return errors.New("a name that is being added was not refused")
			}
			for _, reader := range []interface {
				ByIndex(name, value string) ([]*testObject, error)
			}{s, s.Snapshot()} {
				if _, err := reader.ByIndex("color", "red"); !errors.Is(err, store.ErrUnknownIndex) {
					return fmt.Errorf("an index that is being added can be read: %w", err)
				}
			}
			return nil
		}, []string{"a", "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := store.New(store.Options[*testObject]{})
			must(t, s.Add(newObject("", "a", "1", "red")))
			must(t, s.Add(newObject("", "b", "2", "red")))
			var written atomic.Bool // no sync.Once: the write calls the function, too
			must(t, s.AddIndexer("color", func(obj *testObject) []string {
				if written.CompareAndSwap(false, true) {
					must(t, test.write(s))
				}
				return byColor(obj)
			}))
			got, err := s.ByIndex("color", "red")
			must(t, err)
			if diff := cmp.Diff(test.want, keysOf(got)); diff != "" {
				t.Errorf("red (-want +got):\n%s", diff)
			}
		})
	}
}

// AddIndexer returns, however busy the writers are: here each call of the function for an object
// finds that another write has happened meanwhile.
func TestAddIndexerEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(s *store.Store[*testObject], all []*testObject, i int) error
	}{
		{"update", func(s *store.Store[*testObject], all []*testObject, i int) error { return s.Update(all[i%len(all)]) }},
		{"replace", func(s *store.Store[*testObject], all []*testObject, _ int) error { return s.Replace(all, "1") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := store.New(store.Options[*testObject]{})
			all := reds(200)
			must(t, s.Replace(all, "1"))
			calls, writing := 0, false
			must(t, s.AddIndexer("color", func(obj *testObject) []string {
				if calls++; calls > 10*len(all)*len(all) {
					t.Fatal("the function is called forever")
				}
				if !writing { // else it is called by that write
					writing = true
					must(t, test.write(s, all, calls))
					writing = false
				}
				return byColor(obj)
			}))
			got, err := s.ByIndex("color", "red")
			must(t, err)
			if len(got) != len(all) {
				t.Errorf("%d objects are red, want %d", len(got), len(all))
			}
		})
	}
}

func reds(n int) []*testObject {
	var all []*testObject
	for i := range n {
		all = append(all, newObject("", fmt.Sprint(i), "1", "red"))
	}
	return all
}

// An index that is added while Add or Replace runs an index function is not missed by them.
func TestWriteWhileAddingIndexer(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(*store.Store[*testObject], *testObject) error
	}{
		{"add", func(s *store.Store[*testObject], obj *testObject) error { return s.Add(obj) }},
		{"replace", func(s *store.Store[*testObject], obj *testObject) error { return s.Replace([]*testObject{obj}, "1") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s *store.Store[*testObject]
			var once sync.Once
			s = store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"name": func(obj *testObject) []string {
				once.Do(func() { must(t, s.AddIndexer("color", byColor)) })
				return byName(obj)
			}}})
			must(t, test.write(s, newObject("", "a", "1", "red")))
			got, err := s.ByIndex("color", "red")
			must(t, err)
			if diff := cmp.Diff([]string{"a"}, keysOf(got)); diff != "" {
				t.Errorf("red (-want +got):\n%s", diff)
			}
		})
	}
}

// An object that somebody changed in the store must not leave its old values behind, nor may a
// slice that an index function continues using.
func TestIndexRemembersItsValues(t *testing.T) {
	shared := make([]string, 1)
	s := store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"color": func(obj *testObject) []string {
		shared[0] = obj.Colors[0]
		return shared
	}}})
	a := newObject("", "a", "1", "red")
	must(t, s.Add(a))
	must(t, s.Add(newObject("", "b", "1", "blue")))
	a.Colors[0] = "green"
	must(t, s.Delete(a))
	for _, color := range []string{"red", "green"} {
		if got, err := s.ByIndex("color", color); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v; want nothing", color, got, err)
		}
	}
}

func TestReadsAllocateTheirSliceOnly(t *testing.T) {
	s := store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"color": byColor}})
	for i := range 1000 {
		must(t, s.Add(newObject("ns", fmt.Sprint(i), "1", "red")))
	}
	for _, test := range []struct {
		name string
		want float64
		read func()
	}{
		{"Get", 0, func() { s.Get("ns/500") }},
		{"List", 1, func() { s.List() }},
		{"Keys", 1, func() { s.Keys() }},
		{"ByIndex", 1, func() { _, _ = s.ByIndex("color", "red") }},
		{"ByIndex without result", 0, func() { _, _ = s.ByIndex("color", "none") }},
	} {
		if got := testing.AllocsPerRun(100, test.read); got > test.want {
			t.Errorf("%s: %v allocations, want %v", test.name, got, test.want)
		}
	}
}

func byName(obj *testObject) []string { return []string{obj.GetName()} }

func keysOf(objects []*testObject) []string {
	var keys []string
	for _, obj := range objects {
		keys = append(keys, object.Key(obj))
	}
	return keys
}

func TestIndexKeysAndValuesOfAnUnknownIndex(t *testing.T) {
	s := store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"color": byColor}})
	for _, reader := range []interface {
		IndexKeys(name, value string) ([]string, error)
		IndexValues(name string) ([]string, error)
	}{s, s.Snapshot()} {
		if _, err := reader.IndexKeys("size", "xl"); !errors.Is(err, store.ErrUnknownIndex) {
			t.Errorf("IndexKeys of %T returned %v, want ErrUnknownIndex", reader, err)
		}
		if _, err := reader.IndexValues("size"); !errors.Is(err, store.ErrUnknownIndex) {
			t.Errorf("IndexValues of %T returned %v, want ErrUnknownIndex", reader, err)
		}
	}
}
