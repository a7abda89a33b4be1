package controller

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/object"
)

// Cache is what a source needs of an [informer.Informer] or an [informer.MultiNamespace]. No other
// type can be one, unless it embeds one of them.
type Cache[T object.Object] interface {
	Run(ctx context.Context) error
	Observe(name string, observe func(informer.Change[T])) (*informer.Registration, error)
	WaitForSync(ctx context.Context) error
	Parts() []writes.Cache
}

// Source is an informer and a rule that makes keys of its changes. [For], [Owns] and [Watches] make
// one.
//
// A change concerns the keys of the object as it was and as it is. So if an object goes from one
// owner to another, both are looked at; if it is deleted, its last owner is, whether anybody saw
// the deletion or not. These states are the ones that the informer's store had, one by one: a
// Reconcile that has read a state of an object is called again when the store has another.
//
// That does not hold for changes that the functions named when leave out. Each gets two states of
// one object, as the store had it and as it has it now. If one returns false, the change makes no
// keys.
// They are asked for updates that concern the same keys as before, so never if an object comes,
// goes, or goes to another owner. If a controller's own status writes should not bring its keys
// back:
//
//	controller.For(shops, func(was, is *Shop) bool { return was.Generation != is.Generation })
//
// The server counts the generation up for each change outside metadata and status, and when a
// deletion begins that waits for finalizers. So this leaves out labels, annotations and finalizers:
// compare those that Reconcile reads, too. ConfigMaps and some other types have no generation, so
// it would leave out all of their updates. A custom resource without the status subresource counts
// its status. A server restored from a backup may reach a generation again with other content.
type Source struct {
	name     string
	informer any // what distinguishes the informers of several sources
	run      func(ctx context.Context) error
	await    func(ctx context.Context) error // for the first list
	observe  func(q *Queue[string]) (*informer.Registration, error)
	parts    func() []writes.Cache
}

// For makes the object's own key. [Source] says what when is.
func For[T object.Object](in Cache[T], when ...func(was, is T) bool) Source {
	return from("For", in, func(obj T) []string { return []string{object.Key(obj)} }, when)
}

// owned is an object that says who owns it. Generated API types, Unstructured,
// PartialObjectMetadata and every struct that embeds metav1.ObjectMeta do.
type owned interface {
	object.Object
	GetOwnerReferences() []metav1.OwnerReference
}

// Owns makes the key of the object's controlling owner, if that is of the type owner: the owner
// whose reference has controller: true. There is one at most. Of the type, the Group, the Kind and
// ClusterScoped count: a reference may name another version of the API, and an owner with a
// namespace is in that of the object that it owns. Without a Kind, [Run] returns an error.
//
// An owner is found by its name. If it was deleted and another one has its name, Reconcile can tell
// by the UID of the reference. [OwnedMeta] writes such a reference.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
func Owns[T owned](in Cache[T], owner object.Type, when ...func(was, is T) bool) Source {
	s := from("Owns", in, OwnerKeys[T](owner), when)
	if owner.Kind == "" {
		s.observe = func(*Queue[string]) (*informer.Registration, error) { return nil, errNoKind }
	}
	return s
}

// OwnerKeys returns the function that makes the keys of [Owns]. As an index function, it finds the
// objects that a key owns:
//
//	Indexers: store.Indexers[*Pod]{"owner": controller.OwnerKeys[*Pod](owner)} // in informer.Options
//	pods, err := cache.Store().ByIndex("owner", key)                           // in Reconcile
func OwnerKeys[T owned](owner object.Type) func(obj T) []string {
	return func(obj T) []string {
		for _, ref := range obj.GetOwnerReferences() {
			if ref.Controller != nil && *ref.Controller && isOf(owner, ref) {
				return []string{keyOf(owner, obj.GetNamespace(), ref.Name)}
			}
		}
		return nil
	}
}

// OwnedMeta returns the metadata of a new object that owner controls: a name, the namespace of the
// owner, and a reference to the owner with controller: true. The cluster's garbage collector
// deletes the object after its owner, and [Owns] finds the owner. typ is that of the owner, because
// objects of a cache do not have their kind. If the owner has no namespace, set that of the object.
func OwnedMeta(owner object.Object, typ object.Type, name string) metav1.ObjectMeta {
	apiVersion, kind := typ.GroupVersionKind().ToAPIVersionAndKind()
	return metav1.ObjectMeta{
		Namespace: owner.GetNamespace(),
		Name:      name,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(),
			Controller: new(true), BlockOwnerDeletion: new(true), // a foreground deletion of the owner waits for the object
		}},
	}
}

// isOf reports whether a reference is to an owner of a type.
func isOf(owner object.Type, ref metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == owner.Group && ref.Kind == owner.Kind
}

func keyOf(owner object.Type, namespace, name string) string {
	if owner.ClusterScoped || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Watches makes the keys that a function returns: those that this object concerns. Empty keys are
// left out. The function runs on the informer's goroutine, as index functions and when do: it must
// be quick, and may read stores.
func Watches[T object.Object](in Cache[T], keys func(obj T) []string, when ...func(was, is T) bool) Source {
	return from("Watches", in, func(obj T) []string {
		return slices.DeleteFunc(slices.Clone(keys(obj)), func(key string) bool { return key == "" })
	}, when)
}

// from makes a Source of a rule that says which keys an object concerns.
func from[T object.Object](rule string, in Cache[T], concerns func(obj T) []string, when []func(was, is T) bool) Source {
	var none T
	name := fmt.Sprintf("%s(%T)", rule, none)
	observe := func(q *Queue[string]) (*informer.Registration, error) {
		return in.Observe("controller: "+name, func(c informer.Change[T]) {
			if isClosed(q.closed) {
				return // that of a standby is
			}
			var keys []string
			if c.Existed {
				keys = concerns(c.Old)
			}
			if c.Exists {
				now := concerns(c.New)
				leavesOut := func(when func(was, is T) bool) bool { return !when(c.Old, c.New) }
				if c.Existed && slices.Equal(keys, now) && slices.ContainsFunc(when, leavesOut) {
					return
				}
				keys = append(keys, now...)
			}
			if c.Initial {
				q.AddInitial(keys...)
			} else {
				q.Add(keys...)
			}
		})
	}
	if !reflect.ValueOf(&in).Elem().Comparable() { // Run compares the informers of its sources
		observe = func(*Queue[string]) (*informer.Registration, error) {
			return nil, fmt.Errorf("the informer is a %T, whose values cannot be compared: pass a pointer", in)
		}
	}
	return Source{name: name, informer: in, run: in.Run, await: in.WaitForSync, observe: observe, parts: in.Parts}
}
