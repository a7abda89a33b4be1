// Package storetest checks that a type which wants to stand in for a store.Store behaves as one. It is a package of its
// own so that programs do not link package testing.
//
//	func TestStore(t *testing.T) {
//		storetest.Test(t, func(x store.Indexers[*storetest.Object]) storetest.Store { return mystore.New(x) })
//	}
package storetest

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// Object is what the tests put into a store.
type Object struct {
	metav1.ObjectMeta
	Colors []string // what the index "color" has it under
}

// New makes an object. Its UID is "uid-" and the name.
func New(namespace, name, resourceVersion string, colors ...string) *Object {
	return &Object{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion,
		},
		Colors: colors,
	}
}

// ByColor is the index function that the tests use.
func ByColor(obj *Object) []string { return obj.Colors }

// Store is what is tested: a reflector's sink that can be read. A *store.Store[*Object] is one.
type Store interface {
	Add(obj *Object) error
	Update(obj *Object) error
	Delete(obj *Object) error
	Replace(items []*Object, resourceVersion string) error
	Resync() error

	Get(key string) (*Object, bool)
	List() []*Object
	Keys() []string
	Len() int
	ByIndex(name, value string) ([]*Object, error)
	ResourceVersion() string
}

var _ Store = (*store.Store[*Object])(nil)

// Test runs the tests, each on a store of its own.
func Test(t *testing.T, open func(store.Indexers[*Object]) Store) {
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			s := open(store.Indexers[*Object]{"color": ByColor})
			before := map[string]*Object{}
			for i, step := range test.steps {
				err := step.do(s)
				if (err != nil) != step.fails {
					t.Fatalf("step %d: error %v; want one: %v", i, err, step.fails)
				}
				want := before
				if !step.fails {
					want = map[string]*Object{}
					for _, obj := range step.holds {
						want[object.Key(obj)] = obj
					}
				}
				check(t, i, s, want)
				if got := s.ResourceVersion(); got != step.rv {
					t.Errorf("step %d: ResourceVersion() = %q, want %q", i, got, step.rv)
				}
				before = want
			}
			if _, err := s.ByIndex("flavor", "sweet"); err == nil {
				t.Error("ByIndex of an unknown index: no error")
			}
		})
	}
}

// check compares everything that a reader can see with what is wanted.
func check(t *testing.T, step int, s Store, want map[string]*Object) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	var objects []*Object
	byColor := map[string][]*Object{"none": nil}
	for _, key := range keys {
		obj := want[key]
		objects = append(objects, obj)
		for _, color := range slices.Compact(slices.Sorted(slices.Values(obj.Colors))) {
			byColor[color] = append(byColor[color], obj)
		}
		if got, ok := s.Get(key); !ok || got != obj {
			t.Errorf("step %d: Get(%q) = %v, %v; want %v", step, key, got, ok, obj)
		}
	}
	if got, ok := s.Get("no/such"); ok || got != nil {
		t.Errorf("step %d: Get of an unknown key = %v, %v", step, got, ok)
	}
	if got := s.Len(); got != len(want) {
		t.Errorf("step %d: Len() = %d, want %d", step, got, len(want))
	}
	if diff := cmp.Diff(keys, s.Keys(), emptyIsNil); diff != "" {
		t.Errorf("step %d: Keys() (-want +got):\n%s", step, diff)
	}
	if diff := cmp.Diff(objects, s.List(), emptyIsNil); diff != "" {
		t.Errorf("step %d: List() (-want +got):\n%s", step, diff)
	}
	for _, color := range []string{"none", "red", "blue"} {
		got, err := s.ByIndex("color", color)
		if err != nil {
			t.Errorf("step %d: ByIndex(color, %s): %v", step, color, err)
		}
		if diff := cmp.Diff(byColor[color], got, emptyIsNil); diff != "" {
			t.Errorf("step %d: ByIndex(color, %s) (-want +got):\n%s", step, color, diff)
		}
	}
}

// emptyIsNil makes a nil slice equal to an empty one.
var emptyIsNil = cmp.FilterValues(
	func(a, b any) bool { return isEmpty(a) && isEmpty(b) },
	cmp.Comparer(func(_, _ any) bool { return true }),
)

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []string:
		return len(v) == 0
	case []*Object:
		return len(v) == 0
	}
	return false
}
