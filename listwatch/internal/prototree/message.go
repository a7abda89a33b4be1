package prototree

import (
	"unsafe"

	pbwire "google.golang.org/protobuf/encoding/protowire"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// decode reads the message of a struct. Fields that it has no place for are passed over.
func (fs fields) decode(p *parser, in value, at unsafe.Pointer) bool {
	once := p.sharing || p.managed
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
		if once && number <= last {
			return false // it would be added to what may be shared
		}
		last = number
		f := &fs[number]
		if tag != f.tag {
			return false // another wire type
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

// next takes the first field off a message that is not empty. It is false for what
// protowire.Next calls an error.
//
// A field with a tag and a length of one byte each, as most have, is read by hand: the fields
// of an ObjectMeta take 1.45 µs then, and 1.6 µs with google.golang.org/protobuf's protowire.
func next(b []byte) (tag uint64, in value, rest []byte, ok bool) {
	if len(b) > 1 && 1<<3 <= b[0] && b[0] < 0x80 && protowire.Type(b[0]&7) == protowire.Bytes && b[1] < 0x80 { //nolint:gosec // 3 bits
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
	switch protowire.Type(tag & 7) { //nolint:gosec // 3 bits
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
