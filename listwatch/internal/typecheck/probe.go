package typecheck

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/json"
)

// The probe is an object that is decoded to see where its metadata go. No two of its texts are
// equal, so that no getter can return another member unnoticed. It names no kind, because
// items of lists name none.
const (
	probeName      = "probe"
	probeNamespace = "probe-namespace"
	probeUID       = "00000000-0000-4000-8000-000000000001"
	probeVersion   = "42"

	probeJSON = `{"metadata":{"name":"` + probeName + `","namespace":"` + probeNamespace +
		`","uid":"` + probeUID + `","resourceVersion":"` + probeVersion + `"}}`
)

// probe decodes an object into a struct, and asks the getters for its metadata. namespace
// reports whether GetNamespace returned the namespace. Unless namespaced is true, GetNamespace
// may return none, because the type may be for cluster-scoped objects. A type that decodes
// itself may want more of an object than the probe has, so its error or panic says nothing.
func probe(typ reflect.Type, namespaced bool) (namespace bool, err error) {
	object := reflect.New(typ)
	defer func() {
		if p := recover(); p != nil {
			namespace, err = false, nil
		}
	}()
	decode, err := json.Format{}.Unmarshaler(typ, format.Options{})
	if err != nil {
		return false, err
	}
	if err := decode([]byte(probeJSON), object.Interface()); err != nil {
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			if runtime.IsMissingKind(cause) {
				return false, errors.New("its UnmarshalJSON wants a kind, and items of lists name no kind; use *unstructured.Unstructured itself")
			}
		}
		if decodesItself(typ) {
			return false, nil
		}
		return false, fmt.Errorf("no object with metadata can be: %w", err)
	}
	return checkGetters(object.Interface(), namespaced)
}

// checkGetters compares what the getters of the decoded probe return with what is in it.
func checkGetters(obj any, namespaced bool) (namespace bool, err error) {
	if o, ok := obj.(interface{ GetName() string }); ok && o.GetName() != probeName {
		return false, wrongGetter("name", "GetName", probeName, o.GetName())
	}
	if o, ok := obj.(interface{ GetUID() types.UID }); ok && o.GetUID() != probeUID {
		return false, wrongGetter("uid", "GetUID", probeUID, string(o.GetUID()))
	}
	if o, ok := obj.(interface{ GetResourceVersion() string }); ok && o.GetResourceVersion() != probeVersion {
		return false, wrongGetter("resourceVersion", "GetResourceVersion", probeVersion, o.GetResourceVersion())
	}
	o, ok := obj.(interface{ GetNamespace() string })
	if !ok || !namespaced && o.GetNamespace() == "" {
		return false, nil
	}
	if o.GetNamespace() != probeNamespace {
		return false, wrongGetter("namespace", "GetNamespace", probeNamespace, o.GetNamespace())
	}
	return true, nil
}

// wrongGetter is the error for a getter that does not return a member of metadata.
func wrongGetter(member, getter, want, got string) error {
	return fmt.Errorf("of an object with the metadata.%s %q, %s returns %q; embed metav1.ObjectMeta with the tag `json:\"metadata\"`, or have %s return a field with the tag `json:%q` of a struct with the tag `json:\"metadata\"`",
		member, want, getter, got, getter, member)
}

// WrongNamespace is the error for a GetNamespace that returns "" for an object that has a
// namespace.
func WrongNamespace(namespace string) error {
	return wrongGetter("namespace", "GetNamespace", namespace[:min(len(namespace), 253)], "")
}
