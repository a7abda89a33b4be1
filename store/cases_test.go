package store_test

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

// testObject is what the tests put into a store.
type testObject struct {
	metav1.ObjectMeta
	Colors []string // what the index "color" has it under
}

// newObject makes an object. Its UID is "uid-" and the name.
func newObject(namespace, name, resourceVersion string, colors ...string) *testObject {
	return &testObject{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion,
		},
		Colors: colors,
	}
}

// byColor is the index function that the tests use.
func byColor(obj *testObject) []string { return obj.Colors }

// tested is a reflector's sink that can be read.
type tested interface {
	Add(obj *testObject) error
	Update(obj *testObject) error
	Delete(obj *testObject) error
	Replace(items []*testObject, resourceVersion string) error
	Resync() error

	Get(key string) (*testObject, bool)
	List() []*testObject
	Keys() []string
	Len() int
	ByIndex(name, value string) ([]*testObject, error)
	ResourceVersion() string
}

// step is one call, and what the store holds afterwards. When the call fails it must hold what it
// held before.
type step struct {
	do    func(tested) error
	fails bool
	holds []*testObject
	rv    string
}

func add(obj *testObject) func(tested) error { return func(s tested) error { return s.Add(obj) } }

func update(obj *testObject) func(tested) error { return func(s tested) error { return s.Update(obj) } }

func remove(obj *testObject) func(tested) error { return func(s tested) error { return s.Delete(obj) } }

func replace(rv string, items ...*testObject) func(tested) error {
	return func(s tested) error { return s.Replace(items, rv) }
}

var (
	a1     = newObject("ns", "a", "1", "red")
	a2     = newObject("ns", "a", "2", "blue", "red", "red")
	b3     = newObject("ns", "b", "3", "blue")
	c4     = newObject("", "c", "4")
	c5     = newObject("", "c", "5", "red")
	noName = newObject("ns", "", "9")
	noRV   = newObject("ns", "d", "")
)

var cases = []struct {
	name  string
	steps []step
}{
	{"empty", []step{
		{do: tested.Resync},
		{do: remove(a1), rv: "1"},
	}},
	{"write", []step{
		{do: add(a1), holds: []*testObject{a1}, rv: "1"},
		{do: add(b3), holds: []*testObject{a1, b3}, rv: "3"},
		{do: update(a2), holds: []*testObject{a2, b3}, rv: "3"}, // never moves back
		{do: update(c4), holds: []*testObject{a2, b3, c4}, rv: "4"},
		{do: add(c5), holds: []*testObject{a2, b3, c5}, rv: "5"},
		{do: remove(a1), holds: []*testObject{b3, c5}, rv: "5"}, // by key, whatever the version
		{do: remove(a1), holds: []*testObject{b3, c5}, rv: "5"},
		{do: tested.Resync, holds: []*testObject{b3, c5}, rv: "5"},
		{do: add(noRV), holds: []*testObject{b3, c5, noRV}, rv: "5"},
	}},
	{"replace", []step{
		{do: replace("10", a1, b3), holds: []*testObject{a1, b3}, rv: "10"},
		{do: replace("11", c5, a2), holds: []*testObject{a2, c5}, rv: "11"},
		{do: replace("9", b3), holds: []*testObject{b3}, rv: "11"},
		{do: replace("", a1), holds: []*testObject{a1}, rv: "11"},
		{do: replace("0", a1, b3, a2), holds: []*testObject{a2, b3}, rv: "11"}, // the last of two wins
		{do: replace("100"), rv: "100"},
	}},
	{"nothing half written", []step{
		{do: replace("10", a1, b3), holds: []*testObject{a1, b3}, rv: "10"},
		{do: replace("20", c4, noName), fails: true, rv: "10"},
		{do: add(noName), fails: true, rv: "10"},
		{do: update(noName), fails: true, rv: "10"},
		{do: remove(noName), fails: true, rv: "10"},
	}},
}

// testCases runs the cases, each on a store of its own.
func testCases(t *testing.T, open func(store.Indexers[*testObject]) tested) {
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			s := open(store.Indexers[*testObject]{"color": byColor})
			before := map[string]*testObject{}
			for i, step := range test.steps {
				err := step.do(s)
				if (err != nil) != step.fails {
					t.Fatalf("step %d: error %v; want one: %v", i, err, step.fails)
				}
				want := before
				if !step.fails {
					want = map[string]*testObject{}
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
func check(t *testing.T, step int, s tested, want map[string]*testObject) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	var objects []*testObject
	colored := map[string][]*testObject{"none": nil}
	for _, key := range keys {
		obj := want[key]
		objects = append(objects, obj)
		for _, color := range slices.Compact(slices.Sorted(slices.Values(obj.Colors))) {
			colored[color] = append(colored[color], obj)
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
		if diff := cmp.Diff(colored[color], got, emptyIsNil); diff != "" {
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
	case []*testObject:
		return len(v) == 0
	}
	return false
}
