package store

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Object is what relist must know of a Kubernetes object: four getters of metav1.Object. Generated API types,
// Unstructured, PartialObjectMetadata and any struct that embeds metav1.ObjectMeta satisfy it as they are.
type Object interface {
	GetNamespace() string
	GetName() string
	GetUID() types.UID
	GetResourceVersion() string
}

// ErrNoName is the reason why an object without a name is refused: it has no key that could tell it from another.
var ErrNoName = errors.New("object has no name")

// Key is "namespace/name", or "name" for a cluster-scoped object. It takes the object as it is: for one that may be nil
// or nameless, use [KeyOf].
func Key(obj Object) string {
	return join(obj.GetNamespace(), obj.GetName())
}

// AppendKey appends what [Key] returns to dst, for those who look a key up more often than they keep it.
func AppendKey(dst []byte, obj Object) []byte {
	if namespace := obj.GetNamespace(); namespace != "" {
		dst = append(append(dst, namespace...), '/')
	}
	return append(dst, obj.GetName()...)
}

// KeyOf is [Key] for an object that nobody has checked yet. A nil object, or one whose getters panic, is an error; so is
// one without a name, which satisfies errors.Is with [ErrNoName].
func KeyOf[T Object](obj T) (key string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("key of a %T: panic: %v", obj, v)
		}
	}()
	namespace, name := obj.GetNamespace(), obj.GetName()
	if name == "" {
		return "", fmt.Errorf("key of a %T in namespace %q with uid %q: %w", obj, namespace, obj.GetUID(), ErrNoName)
	}
	return join(namespace, name), nil
}

func join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// SplitKey is the inverse of [Key]: the namespace is empty for a cluster-scoped object. An empty key, an empty part and a
// second slash are errors.
func SplitKey(key string) (namespace, name string, err error) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		namespace, name = "", key
	}
	if name == "" || (found && namespace == "") || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("split key %q: want \"namespace/name\" or \"name\"", key)
	}
	return namespace, name, nil
}

// keySize is the length of the longest key that is not a custom resource's odd one: a namespace of 63 bytes, a slash and a
// name of 253. A longer one costs an allocation.
const keySize = 63 + 1 + 253
