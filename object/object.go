// Package object has the words that every package of relist uses for a Kubernetes object: what identifies one version
// of it ([Meta]), in which order versions came ([Older]), and when two objects of one name are not the same object
// ([Another]).
package object

import "k8s.io/apimachinery/pkg/types"

// Meta identifies one version of one object.
type Meta struct {
	// Key is namespace/name, or name for a cluster-scoped object.
	Key             string
	UID             types.UID
	ResourceVersion string
}

// Another reports whether two UIDs are known and differ: then one object was deleted, and another was made under its
// name. An object without a UID, which a transform may have cleared, may be any.
func Another(a, b types.UID) bool { return a != "" && b != "" && a != b }
