package prototree

import (
	"encoding/binary"
	"reflect"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// decode reads the message of a struct. Fields that it has no place for are passed over.
func (fs fields) decode(p *parser, in value, v reflect.Value) bool {
	last := uint64(0)
	for b := in.bytes; len(b) > 0; {
		tag, first, rest, ok := next(b)
		if !ok {
			return false
		}
		number := tag >> 3
		if number >= uint64(len(fs)) || !fs[number].known() {
			b = rest
			continue
		}
		if p.sharing && number <= last {
			return false // it would be added to what may be shared
		}
		last = number
		f := &fs[number]
		if protowire.Type(tag&7) != f.wire {
			return false
		}
		if f.one != nil {
			ok = f.one(p, first, v.Field(f.index))
		} else {
			var values run
			values, rest = runOf(b, rest, tag, first)
			ok = f.many(p, values, v.Field(f.index))
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
func next(b []byte) (tag uint64, in value, rest []byte, ok bool) {
	// Most fields have a tag and a length of one byte each.
	if len(b) > 1 && 1<<3 <= b[0] && b[0] < 0x80 && protowire.Type(b[0]&7) == protowire.Bytes && b[1] < 0x80 {
		end := 2 + int(b[1])
		if end > len(b) {
			return 0, in, b, false
		}
		in.bytes = b[2:end:end]
		return uint64(b[0]), in, b[end:], true
	}
	if tag, b, ok = uvarint(b); !ok || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return tag, in, b, false
	}
	switch protowire.Type(tag & 7) {
	case protowire.Varint:
		in.number, b, ok = uvarint(b)
		return tag, in, b, ok
	case protowire.Bytes:
		size, b, ok := uvarint(b)
		if !ok || size > uint64(len(b)) {
			return tag, in, b, false
		}
		in.bytes = b[:size:size]
		return tag, in, b[size:], true
	case protowire.Fixed64:
		if len(b) < 8 {
			return tag, in, b, false
		}
		in.number = binary.LittleEndian.Uint64(b)
		return tag, in, b[8:], true
	case protowire.Fixed32:
		if len(b) < 4 {
			return tag, in, b, false
		}
		in.number = uint64(binary.LittleEndian.Uint32(b))
		return tag, in, b[4:], true
	}
	return tag, in, b, false
}

// uvarint reads a number. Most are of one byte.
func uvarint(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, b, false
	}
	return n, b[size:], true
}
