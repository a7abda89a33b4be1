package controller_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/memserver"
)

// thing is the object type of the tests.
type thing struct {
	metav1.ObjectMeta
	About []string // keys of other things
}

// ownedBy is a change of a thing: its controlling owner is a Shop of this name, or, if kind says
// so, something else.
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

// fake is a server of things, which tests name by their key.
type fake struct{ *memserver.Server[*thing] }

func newFake(keys ...string) *fake {
	f := &fake{memserver.New[*thing]()}
	f.Bookmark() // so that an empty list has a version, too
	for _, key := range keys {
		f.set(key, func(*thing) {})
	}
	return f
}

// set creates or updates an object.
func (f *fake) set(key string, change func(*thing)) {
	obj := &thing{}
	if old, ok := f.Get(key); ok {
		*obj = *old
	}
	change(obj)
	f.Set(key, obj)
}

// unseen removes an object while nobody watches, and forgets the event.
func (f *fake) unseen(key string) { f.Gap(func() { f.Remove(key) }) }
