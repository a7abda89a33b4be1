// Package prototree decodes protobuf messages of Kubernetes objects into structs, one after
// the other. It remembers parts that repeat from object to object, and reuses them.
//
// The reference is the code that Kubernetes generates for the types of its API. From the
// same bytes, a [Decoder] makes the same value as that code, even in which slices are nil.
// The Decoder takes the number of each field from the field's tag:
//
//	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
//
// Three things save time and memory. The package asks reflection about a type only once,
// and keeps the answer as a plan. It counts the elements of a slice or a map before it
// reads the first one, and allocates the final size at once. It keeps equal strings, and the
// equal fieldsV1 of managedFields, only once in memory. If the caller asks for that, it does
// the same with other equal parts of objects.
//
// Some types have a method Unmarshal that was written by hand, for example metav1.Time.
// Such a type is decoded by its own method.
//
// Begin with [New] and [Decoder.Decode].
package prototree
