package controller_test

import (
	"testing"
	"testing/synctest"

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
