package store_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// model is a store as one would write it first: a map, and a scan for everything else.
type model struct {
	objects map[string]*testObject
	rv      int
}

func (m model) clone() model { return model{maps.Clone(m.objects), m.rv} }

func (m model) keys() []string { return slices.Sorted(maps.Keys(m.objects)) }

func (m model) list() []*testObject {
	var out []*testObject
	for _, key := range m.keys() {
		out = append(out, m.objects[key])
	}
	return out
}

func (m model) byColor(color string) []*testObject {
	return slices.DeleteFunc(m.list(), func(obj *testObject) bool { return !slices.Contains(obj.Colors, color) })
}

var colors = [][]string{nil, {"red"}, {"blue"}, {"red", "blue"}, {"blue", "blue"}}

// FuzzStore runs a script of three bytes a step (what, which object, what it looks like) against a
// store and the model.
func FuzzStore(f *testing.F) {
	random := rand.NewChaCha8([32]byte{})
	for i := range 300 { // what every run plays: most rules are proved by nothing else
		script := make([]byte, 3*(2+i%30))
		_, _ = random.Read(script)
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		s := store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"color": byColor}})
		m := model{objects: map[string]*testObject{}}
		type moment struct {
			*store.Snapshot[*testObject]
			model
		}
		var moments []moment
		rv := 100
		for ; len(script) >= 3; script = script[3:] {
			what, which, look := script[0]%6, int(script[1]), int(script[2])
			rv = max(0, rv+look-100) // it goes back now and then, and to 0, which is no version
			obj := fuzzObject(which, look, rv)
			if look > 250 { // a write that fails changes nothing
				obj.Name = ""
				items := []*testObject{fuzzObject(which, 0, rv), obj}
				for _, err := range []error{s.Add(obj), s.Update(obj), s.Delete(obj), s.Replace(items, "1000000")} {
					if !errors.Is(err, object.ErrNoName) {
						t.Errorf("an object without a name: %v", err)
					}
				}
				continue
			}
			switch what {
			case 0, 1:
				must(t, []func(*testObject) error{s.Add, s.Update}[what](obj))
				m.objects[object.Key(obj)] = obj
				m.rv = max(m.rv, rv)
			case 2:
				must(t, s.Delete(obj))
				delete(m.objects, object.Key(obj))
				m.rv = max(m.rv, rv)
			case 3:
				var items []*testObject
				next := model{map[string]*testObject{}, max(m.rv, rv)}
				for i := range which % 150 {
					item := fuzzObject(i*look, i*look+look, rv)
					items = append(items, item)
					next.objects[object.Key(item)] = item
				}
				must(t, s.Replace(items, strconv.Itoa(rv)))
				m = next
			case 4:
				moments = append(moments, moment{s.Snapshot(), m.clone()})
			case 5:
				name := "late" + strconv.Itoa(which%3)
				if s.AddIndexer(name, byName) == nil {
					if _, err := s.ByIndex(name, "x"); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		compare(t, s, m)
		for _, then := range moments {
			compare(t, then.Snapshot, then.model)
		}
	})
}

func fuzzObject(which, look, rv int) *testObject {
	which %= 200
	version := strconv.Itoa(rv)
	if rv == 0 && look%2 == 0 {
		version = ""
	}
	return newObject([]string{"", "ns", "other"}[which%3], strconv.Itoa(which), version, colors[look%len(colors)]...)
}

func compare(t *testing.T, s interface {
	Get(key string) (*testObject, bool)
	List() []*testObject
	Keys() []string
	Len() int
	In(namespace string) []*testObject
	ByIndex(name, value string) ([]*testObject, error)
	IndexKeys(name, value string) ([]string, error)
	IndexValues(name string) ([]string, error)
	ResourceVersion() string
}, m model,
) {
	t.Helper()
	if !slices.Equal(s.List(), m.list()) {
		t.Errorf("List (-want +got):\n%s", cmp.Diff(m.list(), s.List()))
	}
	if !slices.Equal(s.Keys(), m.keys()) || s.Len() != len(m.objects) {
		t.Errorf("Keys (-want +got):\n%s", cmp.Diff(m.keys(), s.Keys()))
	}
	for i := range 200 {
		key := object.Key(fuzzObject(i, 0, 0))
		if got, _ := s.Get(key); got != m.objects[key] {
			t.Errorf("Get(%q) = %v, want %v", key, got, m.objects[key])
		}
	}
	var values []string
	for _, color := range []string{"red", "blue", "none"} {
		got, err := s.ByIndex("color", color)
		if err != nil || !slices.Equal(got, m.byColor(color)) {
			t.Errorf("%s: error %v (-want +got):\n%s", color, err, cmp.Diff(m.byColor(color), got))
		}
		keys, err := s.IndexKeys("color", color)
		if want := keysOf(m.byColor(color)); err != nil || !slices.Equal(keys, want) {
			t.Errorf("%s: error %v, keys (-want +got):\n%s", color, err, cmp.Diff(want, keys))
		}
		if len(keys) > 0 {
			values = append(values, color)
		}
	}
	if got, err := s.IndexValues("color"); err != nil || !slices.Equal(got, slices.Sorted(slices.Values(values))) {
		t.Errorf("IndexValues = %q, %v, want %q", got, err, values)
	}
	for _, namespace := range []string{"ns", "other", "oth"} {
		want := slices.DeleteFunc(m.list(), func(obj *testObject) bool { return obj.GetNamespace() != namespace })
		if got := s.In(namespace); !slices.Equal(got, want) {
			t.Errorf("In(%q) (-want +got):\n%s", namespace, cmp.Diff(want, got))
		}
	}
	want := ""
	if m.rv > 0 {
		want = strconv.Itoa(m.rv)
	}
	if got := s.ResourceVersion(); got != want {
		t.Errorf("ResourceVersion %q, want %q", got, want)
	}
}
