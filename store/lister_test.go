package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Names of namespaces that begin alike, around the slash in the order of characters.
var neighbours = []string{"a", "a-b", "a.b", "a0", "a1", "aa", "b", "z"}

func TestInFindsANamespaceAmongItsNeighbours(t *testing.T) {
	s := New(Options[*metav1.PartialObjectMetadata]{})
	add := func(namespace, name string) {
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: "1"}}
		if err := s.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 { // a tree of more than one level
		for n, namespace := range neighbours {
			if i%(n+1) == 0 {
				add(namespace, fmt.Sprintf("%03d", i))
			}
		}
		add("", fmt.Sprintf("a%03d", i)) // without a namespace
	}
	snapshot := s.Snapshot()
	add("a", "later")
	for _, namespace := range append(neighbours, "", "none", "a/000") {
		for name, got := range map[string]struct {
			in   []*metav1.PartialObjectMetadata
			keys []string
		}{
			"store":    {s.In(namespace), s.Keys()},
			"snapshot": {snapshot.In(namespace), snapshot.Keys()},
		} {
			want := slices.DeleteFunc(got.keys, func(key string) bool {
				of, _, _ := strings.Cut(key, "/")
				return namespace != "" && (of != namespace || !strings.Contains(key, "/"))
			})
			var keys []string
			for _, obj := range got.in {
				key := obj.Name
				if obj.Namespace != "" {
					key = obj.Namespace + "/" + obj.Name
				}
				keys = append(keys, key)
			}
			if !slices.Equal(keys, want) {
				t.Errorf("%s: In(%q) has %d objects, want %d", name, namespace, len(keys), len(want))
			}
		}
	}
}

func TestBetweenStops(t *testing.T) {
	var tr tree[int]
	o := new(owner)
	for i := range 20_000 {
		tr.set(o, fmt.Sprintf("ns-%03d/%05d", i/100, i), i)
	}
	for _, want := range []int{1, 7, 99} {
		var got []int
		tr.between("ns-050/", "ns-0500", func(_ string, i int) bool {
			got = append(got, i)
			return len(got) < want
		})
		if len(got) != want || got[0] != 5000 || got[want-1] != 5000+want-1 {
			t.Errorf("between gave %v, want the first %d of the namespace", got, want)
		}
	}
}

func TestSelect(t *testing.T) {
	labeled := func(name, app string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}}
	}
	objects := []*metav1.PartialObjectMetadata{labeled("c", "web"), labeled("a", "db"), labeled("b", "web"), {}}
	for selector, want := range map[string][]string{
		"app=web": {"c", "b"}, "app!=web": {"a", ""}, "app": {"c", "a", "b"}, "": {"c", "a", "b", ""}, "app=none": nil,
	} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, obj := range Select(objects, parsed) {
			got = append(got, obj.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Select(%q) (-want +got):\n%s", selector, diff)
		}
	}
}
