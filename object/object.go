// Package object has the words that relist, and programs with types of their own, use for a
// Kubernetes object: what it must have ([Object]), its key ([Key]), what identifies one version of
// it ([Meta]), the order of versions ([Older]), and when two objects with one name are not the same
// object ([DifferentUID]). It has no types of the API.
package object

import "k8s.io/apimachinery/pkg/types"

// Object is the part of a Kubernetes object that relist needs: four getters of metav1.Object.
// Generated API types, Unstructured, PartialObjectMetadata and every struct that embeds
// metav1.ObjectMeta have them.
type Object interface {
	GetNamespace() string
	GetName() string
	GetUID() types.UID
	GetResourceVersion() string
}

// Meta identifies one version of one object.
type Meta struct {
	// Key is namespace/name, or name for a cluster-scoped object.
	Key             string
	UID             types.UID
	ResourceVersion string
}

// DifferentUID reports whether two UIDs show that one object was deleted and another one was
// created under its name: both are known, and they differ. A transform may have cleared a UID, so
// an empty one shows nothing.
func DifferentUID(a, b types.UID) bool { return a != "" && b != "" && a != b }
