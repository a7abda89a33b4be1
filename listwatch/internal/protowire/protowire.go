// Package protowire reads the wire format of protocol buffers, as much of it as it
// takes to find the parts of a message and hand them to code that was generated for
// their types: https://protobuf.dev/programming-guides/encoding/.
//
//	for len(message) > 0 {
//		field, rest, err := protowire.Next(message)
//		...
//		message = rest
//	}
//
// [Next] is for messages that are in memory, [Reader] for those that arrive.
//
// It is written by hand because it is small, and the whole of
// google.golang.org/protobuf would come with the first function of it.
package protowire

import "fmt"

// Type is how the value of a field is written.
type Type uint8

// The wire types. Groups were never used by Kubernetes, and are an error.
const (
	Varint  Type = 0
	Fixed64 Type = 1
	Bytes   Type = 2
	Fixed32 Type = 5
)

// Field is one field of a message.
type Field struct {
	Number int
	Type   Type

	// Bytes is the value of a Bytes field, a part of the message. Uint is that of a
	// Varint; values of fixed size are skipped.
	Bytes []byte
	Uint  uint64
}

// maxNumber is the largest number that a field can have.
const maxNumber = 1<<29 - 1

// Error is what is wrong with a message. Errors of the reader under a [Reader] are
// returned as they are.
type Error string

// Error returns the text.
func (e Error) Error() string { return "protobuf: " + string(e) }

const (
	// ErrTruncated is the error for a message that ends inside a field.
	ErrTruncated Error = "the message ends inside a field"

	// ErrVarint is the error for a number of more than 64 bits.
	ErrVarint Error = "a varint is longer than 64 bits"
)

// Next takes the first field off a message that is not empty. If the message ends
// inside the value of a Bytes field, Next returns ErrTruncated together with that field
// and as much of the value as is there, for callers that take what they can get.
func Next(message []byte) (field Field, rest []byte, err error) {
	tag, rest, err := uvarint(message)
	if err != nil {
		return Field{}, nil, err
	}
	if field.Number, field.Type, err = splitTag(tag); err != nil {
		return Field{}, nil, err
	}
	size := 0
	switch field.Type {
	case Varint:
		field.Uint, rest, err = uvarint(rest)
		return field, rest, err
	case Fixed64:
		size = 8
	case Fixed32:
		size = 4
	case Bytes:
		var length uint64
		if length, rest, err = uvarint(rest); err != nil {
			return Field{}, nil, err
		}
		if length > uint64(len(rest)) {
			field.Bytes = rest
			return field, nil, ErrTruncated
		}
		field.Bytes = rest[:length:length]
		return field, rest[length:], nil
	}
	if len(rest) < size {
		return Field{}, nil, ErrTruncated
	}
	return field, rest[size:], nil
}

// splitTag takes apart what stands before a value.
func splitTag(tag uint64) (number int, typ Type, err error) {
	typ = Type(tag & 7)
	switch typ {
	case Varint, Fixed64, Bytes, Fixed32:
	default:
		return 0, 0, Error(fmt.Sprintf("wire type %d", typ))
	}
	if tag >>= 3; tag == 0 || tag > maxNumber {
		return 0, 0, Error(fmt.Sprintf("field number %d", tag))
	}
	return int(tag), typ, nil //nolint:gosec // at most maxNumber
}

// maxVarint is the number of bytes of the largest varint: nine of 7 bits, and one of 1.
const maxVarint = 10

// uvarint reads a number. Most are of one byte.
func uvarint(b []byte) (value uint64, rest []byte, err error) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], nil
	}
	return longVarint(b)
}

func longVarint(b []byte) (value uint64, rest []byte, err error) {
	for i, c := range b[:min(len(b), maxVarint)] {
		if i == maxVarint-1 && c > 1 {
			return 0, nil, ErrVarint
		}
		value |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return value, b[i+1:], nil
		}
	}
	return 0, nil, ErrTruncated
}
