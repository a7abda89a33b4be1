// Package wire reads the structure of JSON without parsing it: where a value ends,
// which members an object has, what an object is called. It serves for bytes that
// need not be decoded: an object that is known already, a member that is dropped.
//
// It reads each byte once, at more than 1 GB/s. To find the end of a value it only
// counts the brackets outside of strings. A decoder checks the grammar of the bytes
// that are used afterwards.
//
// Apart from the buffers of a [Reader], the package only allocates for a name or a
// string with escapes. It undoes escapes before it compares names. It allows white
// space wherever JSON does.
package wire
