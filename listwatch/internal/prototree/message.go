package prototree

import (
	"unsafe"

	pbwire "google.golang.org/protobuf/encoding/protowire"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// decode reads the message of a struct. It skips fields that the struct does not have.
func (fs fields) decode(p *parser, in value, at unsafe.Pointer) bool {
	last := uint64(0)
	for b := in.bytes; len(b) > 0; {
		tag, first, rest, ok := next(b)
		if !ok {
			return false
		}
		number := tag >> 3
		if number >= uint64(len(fs)) || fs[number].tag == 0 {
			b = rest
			continue
		}
		if p.sharing && number <= last {
			return false // the field comes twice or out of order; a second value would be added to a part that may be shared
		}
		last = number
		f := &fs[number]
		if tag != f.tag {
			return false // the wire type is not that of the field's Go type
		}
		if f.one != nil {
			ok = f.one(p, first, unsafe.Add(at, f.offset))
		} else {
			var values run
			values, rest = runOf(b, rest, tag, first)
			ok = f.many(p, values, unsafe.Add(at, f.offset))
		}
		if !ok {
			return false
		}
		b = rest
	}
	return true
}

// next reads the first field of a message, and returns the bytes after it as rest. The
// message must not be empty. next returns false if the message is malformed, as
// protowire.Next returns an error.
//
// Most fields have a tag of one byte and a length of one byte. next reads these itself,
// because that is faster: the fields of an ObjectMeta take 1.45 µs, and 1.6 µs with protowire
// of google.golang.org/protobuf alone.
func next(b []byte) (tag uint64, in value, rest []byte, ok bool) {
	if len(b) > 1 && 1<<3 <= b[0] && b[0] < 0x80 && protowire.Type(b[0]&7) == protowire.Bytes && b[1] < 0x80 {
		end := 2 + int(b[1])
		if end > len(b) {
			return 0, in, b, false
		}
		in.bytes = b[2:end:end]
		return uint64(b[0]), in, b[end:], true
	}
	tag, n := pbwire.ConsumeVarint(b)
	if n < 0 || tag>>3 == 0 || tag>>3 > uint64(pbwire.MaxValidNumber) {
		return tag, in, b, false
	}
	b = b[n:]
	switch protowire.Type(tag & 7) {
	case protowire.Varint:
		in.number, n = pbwire.ConsumeVarint(b)
	case protowire.Bytes:
		if in.bytes, n = pbwire.ConsumeBytes(b); n >= 0 {
			in.bytes = in.bytes[:len(in.bytes):len(in.bytes)]
		}
	case protowire.Fixed64:
		in.number, n = pbwire.ConsumeFixed64(b)
	case protowire.Fixed32:
		var number uint32
		number, n = pbwire.ConsumeFixed32(b)
		in.number = uint64(number)
	default:
		return tag, in, b, false
	}
	if n < 0 {
		return tag, in, b, false
	}
	return tag, in, b[n:], true
}
