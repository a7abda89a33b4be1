package object

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoName is the error for an object without a name, which has no key.
var ErrNoName = errors.New("object has no name")

// Key returns "namespace/name", or "name" for a cluster-scoped object. It does not check the
// object: if that may be nil or without a name, use [KeyOf].
func Key(obj Object) string {
	return join(obj.GetNamespace(), obj.GetName())
}

// KeySize is the length of the longest key that Kubernetes' own types have: a namespace of 63
// bytes, a slash and a name of 253. Some custom resources have longer ones.
const KeySize = 63 + 1 + 253

// KeyOf is [Key] for an object that may be bad. It returns an error if the object is nil, if a
// getter panics, or if there is no name; the last satisfies errors.Is with [ErrNoName].
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

// AppendKey appends the key of a namespace and a name to buf, and returns it. With a buf of
// [KeySize] on the stack, it makes a key without an allocation.
func AppendKey(buf []byte, namespace, name string) []byte {
	if namespace != "" {
		buf = append(append(buf, namespace...), '/')
	}
	return append(buf, name...)
}

func join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// SplitKey is the inverse of [Key]: the namespace is empty for a cluster-scoped object. An empty
// key, an empty part and a second slash are errors.
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
