// Package protowire reads the wire format of protocol buffers. It finds the fields of a
// message, whose values generated code can then decode:
// https://protobuf.dev/programming-guides/encoding/.
//
//	for len(message) > 0 {
//		field, rest, err := protowire.Next(message)
//		...
//		message = rest
//	}
//
// [Next] reads a message in memory, and [Reader] reads one from a stream.
//
// google.golang.org/protobuf/encoding/protowire reads the numbers and lengths. It takes 1.6
// µs for the fields of an ObjectMeta; hand-written code took 2.7 µs. This package adds two
// things to it: [Reader], and the value of a field that is cut off.
package protowire

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is how the value of a field is written.
type Type = protowire.Type

// The wire types. A group is an error, because Kubernetes has never used groups.
const (
	Varint  = protowire.VarintType
	Fixed64 = protowire.Fixed64Type
	Bytes   = protowire.BytesType
	Fixed32 = protowire.Fixed32Type
)

// Field is one field of a message.
type Field struct {
	Number int
	Type   Type

	// Bytes is the value of a Bytes field, and points into the message. Uint is the value of a
	// Varint field. Values of fixed size are skipped.
	Bytes []byte
	Uint  uint64
}

// Error says what is wrong with a message. A [Reader] returns the errors of its stream
// unchanged.
type Error string

// Error returns the text.
func (e Error) Error() string { return "protobuf: " + string(e) }

const (
	// ErrTruncated is the error for a message that ends inside a field.
	ErrTruncated Error = "the message ends inside a field"

	// ErrVarint is the error for a number of more than 64 bits.
	ErrVarint Error = "a varint is longer than 64 bits"
)

// Next takes the first field off a message that is not empty. If the message ends inside
// the value of a Bytes field, Next returns ErrTruncated together with the field and the
// part of the value that is there. Callers that read leniently use that part.
func Next(message []byte) (field Field, rest []byte, err error) {
	tag, rest, err := uvarint(message)
	if err != nil {
		return Field{}, nil, err
	}
	if field.Number, field.Type, err = splitTag(tag); err != nil {
		return Field{}, nil, err
	}
	size := 0
	switch field.Type { //nolint:exhaustive // splitTag refuses groups
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

// Each visits the fields of a message. If the message ends inside a field, Each visits that field
// with the bytes that are there, and then returns ErrTruncated. A caller that reads leniently uses
// these bytes and ignores the error.
func Each(message []byte, visit func(Field) error) error {
	for len(message) > 0 {
		field, rest, err := Next(message)
		if err != nil {
			if err == ErrTruncated && field.Bytes != nil { //nolint:errorlint // Next returns it as it is
				_ = visit(field) // the caller gets the first error
			}
			return err
		}
		if err := visit(field); err != nil {
			return err
		}
		message = rest
	}
	return nil
}

func splitTag(tag uint64) (number int, typ Type, err error) {
	typ = Type(tag & 7)
	switch typ {
	case Varint, Fixed64, Bytes, Fixed32:
	default:
		return 0, 0, Error(fmt.Sprintf("wire type %d", typ))
	}
	if tag >>= 3; tag == 0 || tag > uint64(protowire.MaxValidNumber) {
		return 0, 0, Error(fmt.Sprintf("field number %d", tag))
	}
	return int(tag), typ, nil // at most MaxValidNumber
}

// maxVarint is the number of bytes of the longest varint: nine bytes with 7 bits, and one
// with 1 bit.
const maxVarint = 10

func uvarint(b []byte) (value uint64, rest []byte, err error) {
	value, n := protowire.ConsumeVarint(b)
	if n < 0 {
		if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
			return 0, nil, ErrTruncated
		}
		return 0, nil, ErrVarint
	}
	return value, b[n:], nil
}
