// Package rawobject has the type that the command mirrors any resource into.
package rawobject

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object is a whole object of any kind: the bytes that the server sent, and what
// identifies them.
//
// A tree of maps, as Unstructured is, takes several times the memory of the bytes, and
// the command looks at nothing but the identity.
type Object struct {
	namespace, name string
	uid             types.UID
	resourceVersion string
	raw             []byte
}

// GetNamespace returns the namespace, empty for a cluster-scoped object.
func (o *Object) GetNamespace() string { return o.namespace }

// GetName returns the name.
func (o *Object) GetName() string { return o.name }

// GetUID returns the UID.
func (o *Object) GetUID() types.UID { return o.uid }

// GetResourceVersion returns the version of the object.
func (o *Object) GetResourceVersion() string { return o.resourceVersion }

// Raw returns the object as the server sent it: its JSON, or the protobuf message
// without what stands around it. It must not be changed.
func (o *Object) Raw() []byte { return o.raw }

// Unmarshal keeps a protobuf message. Whatever the kind, its first field is the
// metadata; what follows needs no type to be kept.
func (o *Object) Unmarshal(message []byte) error {
	var partial metav1.PartialObjectMetadata
	if err := partial.Unmarshal(message); err != nil {
		return err
	}
	*o = Object{
		namespace:       partial.Namespace,
		name:            partial.Name,
		uid:             partial.UID,
		resourceVersion: partial.ResourceVersion,
		raw:             bytes.Clone(message),
	}
	return nil
}

// Parse returns the object that data holds.
func Parse(data []byte) (*Object, error) {
	o := &Object{}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, err
	}
	return o, nil
}

// identity is the part of an object that is read.
type identity struct {
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
}

var errNotObject = errors.New("not a JSON object")

// UnmarshalJSON keeps an object, which need not be good JSON inside: a name may stand twice, as some servers have stored
// it.
func (o *Object) UnmarshalJSON(value []byte) error {
	if jsontext.Value(value).Kind() != '{' {
		return errNotObject
	}
	var id identity
	if err := json.Unmarshal(value, &id, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return err
	}
	raw := make([]byte, len(value)) // a copy that fits: the caller uses its buffer again
	copy(raw, value)
	*o = Object{
		namespace:       id.Metadata.Namespace,
		name:            id.Metadata.Name,
		uid:             id.Metadata.UID,
		resourceVersion: id.Metadata.ResourceVersion,
		raw:             raw,
	}
	return nil
}
