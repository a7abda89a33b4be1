package controller_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// What OwnedMeta writes is what the API machinery writes, and Owns finds the owner in it.
func TestOwnedMeta(t *testing.T) {
	typ := object.Type{Group: "example.com", Version: "v1", Resource: "shops", Kind: "Shop"}
	owner := &thing{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "uid-x", ResourceVersion: "7"}}
	got := controller.OwnedMeta(owner, typ, "a")
	want := metav1.ObjectMeta{Namespace: "ns", Name: "a", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, typ.GroupVersionKind())}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	keys := controller.OwnerKeys[*thing](typ)
	if diff := cmp.Diff([]string{"ns/x"}, keys(&thing{ObjectMeta: got})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An index of OwnerKeys has the objects that a key owns.
func TestIndexOfOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("ns/a", "ns/b", "ns/c", "other/a")
		owner := object.Type{Group: "example.com", Kind: "Shop"}
		for key, name := range map[string]string{"ns/a": "x", "ns/c": "x", "ns/b": "y", "other/a": "x"} {
			f.set(key, shop(name))
		}
		in := informer.New(f, informer.Options[*thing]{
			Indexers: store.Indexers[*thing]{"owner": controller.OwnerKeys[*thing](owner)},
		})
		r := run(t, 1, nil, controller.Owns(in, owner))
		synctest.Wait()
		keys, err := in.Store().IndexKeys("owner", "ns/x")
		if diff := cmp.Diff([]string{"ns/a", "ns/c"}, keys); diff != "" || err != nil {
			t.Errorf("(-want +got):\n%s\n%v", diff, err)
		}
		r.stop()
	})
}

// A function that compares two states is asked for updates alone: an object that comes, goes or is
// replaced, or that goes from one key to another, makes its keys anyway. Of several functions, all
// decide. What a list brings together counts as one update.
func TestWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		grow := func(obj *thing) { obj.Generation++ }
		asked := 0
		generation := func(was, is *thing) bool { asked++; return was.Generation != is.Generation }
		labeled := func(_, is *thing) bool { return is.Labels["skip"] == "" }
		in := cache(f)
		r := run(t, 1, nil, controller.For(in, generation, labeled))
		owned := run(t, 1, nil, controller.Owns(in, object.Type{Group: "example.com", Kind: "Shop"}, generation))
		watched := run(t, 1, nil, controller.Watches(in, func(obj *thing) []string { return obj.About }, generation))
		r.expect("a b")
		f.set("a", func(*thing) {})
		r.expect("")
		f.set("a", grow)
		r.expect("a")
		f.set("a", func(obj *thing) { grow(obj); obj.Labels = map[string]string{"skip": "yes"} })
		r.expect("")
		f.Gap(func() { f.set("a", func(obj *thing) { obj.Labels = nil }); f.set("a", grow) })
		later(time.Minute)
		r.expect("a")

		owned.expect("")
		for _, want := range []string{"x", "x y"} { // the generation does not count these
			name := want[len(want)-1:]
			f.set("a", func(obj *thing) { shop(name)(obj); obj.About = []string{name} })
			owned.expect(want)
			watched.expect(want)
		}
		r.expect("")

		before := asked
		f.Gap(func() { f.Remove("b"); f.set("b", func(*thing) {}) }) // of the same generation
		later(time.Minute)
		r.expect("b", "b b") // a worker may take b between its deletion and the new object
		f.Remove("a")
		f.set("c", func(*thing) {})
		r.expect("a c")
		owned.expect("y")
		watched.expect("y")
		if asked != before {
			t.Errorf("asked %d times for objects that came and went", asked-before)
		}
	})
}
