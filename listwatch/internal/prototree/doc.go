// Package prototree decodes the protobuf of one object after the other into structs,
// and remembers what repeats from one to the next.
//
// The code that is generated for the API's types is the reference: a [Decoder] makes of
// the same bytes what that code makes of them, down to which slices are nil. It takes
// the numbers of the fields from the tags that the types have for it:
//
//	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
//
// With a plan made once per type, slices and maps get their final size, because the
// elements are counted before the first is read, and equal strings are one in memory.
// So is what lies under metadata.managedFields, and any other part if that is asked for.
//
// A type whose method Unmarshal was written by hand, as that of metav1.Time, is decoded
// by its method, wherever in an object it stands.
package prototree
