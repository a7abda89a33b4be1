package listwatch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/relist-go/relist/listwatch/internal/protowire"
	"github.com/relist-go/relist/listwatch/internal/wire"
)

// protobufDrop leaves fields out of a message. A path is made of the names that JSON
// has; the numbers that protobuf has instead are in the tags of the object's type.
type protobufDrop struct {
	all    bool                     // the field itself is dropped
	fields map[int]*protobufDrop    // by number, of a message
	keys   map[string]*protobufDrop // by key, of the entries of a map
}

// dropper implements dropper.
func (protobufEncoding) dropper(typ reflect.Type, paths [][]string) (func(dst, object []byte) []byte, error) {
	if _, err := wire.NewDrop(paths); err != nil {
		return nil, err
	}
	root := &protobufDrop{}
	for _, path := range paths {
		if err := root.add(typ, path); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(path, "."), err)
		}
	}
	inEnvelope := &protobufDrop{fields: map[int]*protobufDrop{unknownRaw: root}}
	return func(dst, object []byte) []byte {
		before, drop, message := len(dst), root, object
		if inside, ok := bytes.CutPrefix(object, protobufMagic); ok {
			dst, drop, message = append(dst, protobufMagic...), inEnvelope, inside
		}
		out, ok := drop.append(dst, message)
		if !ok {
			return append(out[:before], object...) // it is for the decoder to say what is wrong
		}
		return out
	}, nil
}

// add drops what is at path in a typ. A path that leads nowhere drops nothing.
func (d *protobufDrop) add(typ reflect.Type, path []string) error {
	if len(path) == 0 {
		d.all = true
		return nil
	}
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Map:
		if d.keys == nil {
			d.keys = make(map[string]*protobufDrop)
		}
		return child(d.keys, path[0]).add(typ.Elem(), path[1:])
	case reflect.Struct:
		return d.addField(typ, path)
	default:
		return nil
	}
}

func (d *protobufDrop) addField(typ reflect.Type, path []string) error {
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inline := field.Anonymous && name == ""
		if name != path[0] && !inline {
			continue
		}
		_, tag, _ := strings.Cut(field.Tag.Get("protobuf"), ",")
		tag, _, _ = strings.Cut(tag, ",")
		number, err := strconv.Atoi(tag)
		switch {
		case err != nil && inline:
			continue // TypeMeta, which stands on the envelope
		case err != nil:
			return fmt.Errorf("%v says no field number for %s", typ, path[0])
		}
		if d.fields == nil {
			d.fields = make(map[int]*protobufDrop)
		}
		rest := path
		if !inline {
			rest = path[1:]
		}
		// JSON has the fields of an embedded struct beside the others, protobuf in a
		// message of their own.
		if err := child(d.fields, number).add(field.Type, rest); err != nil {
			return err
		}
	}
	return nil
}

func child[K comparable](children map[K]*protobufDrop, key K) *protobufDrop {
	c := children[key]
	if c == nil {
		c = &protobufDrop{}
		children[key] = c
	}
	return c
}

// nothing reports whether no path ends here or below: one that leads on from what is no message, such as a string, is
// added no further, and what it has come to need not be a message.
func (d *protobufDrop) nothing() bool { return !d.all && d.fields == nil && d.keys == nil }

// append appends message to dst without what is dropped. It is false if the message is
// none.
func (d *protobufDrop) append(dst, message []byte) ([]byte, bool) {
	for len(message) > 0 {
		field, rest, err := protowire.Next(message)
		if err != nil {
			return dst, false
		}
		raw := message[:len(message)-len(rest)]
		message = rest
		drop := d.fields[field.Number]
		switch {
		case drop == nil || drop.nothing() || field.Type != protowire.Bytes && !drop.all:
			dst = append(dst, raw...)
			continue
		case drop.all:
			continue
		case drop.keys != nil:
			entry, ok := drop.entry(field.Bytes)
			if !ok {
				return dst, false
			}
			if entry == nil {
				dst = append(dst, raw...)
				continue
			}
			if entry.all {
				continue
			}
			drop = &protobufDrop{fields: map[int]*protobufDrop{mapValue: entry}}
		}
		// The length stands before the content, and is known after it.
		dst = append(dst, raw[:tagLength(raw)]...)
		start := len(dst)
		var ok bool
		if dst, ok = drop.append(dst, field.Bytes); !ok {
			return dst, false
		}
		var length [binary.MaxVarintLen64]byte
		n := binary.PutUvarint(length[:], uint64(len(dst)-start))
		size := len(dst) - start
		dst = append(dst, length[:n]...)
		copy(dst[start+n:], dst[start:start+size])
		copy(dst[start:], length[:n])
	}
	return dst, true
}

// entry returns what is dropped of an entry of a map; nil for nothing.
func (d *protobufDrop) entry(message []byte) (_ *protobufDrop, ok bool) {
	var found *protobufDrop
	err := eachField(message, func(f protowire.Field) error {
		if f.Number == mapKey {
			found = d.keys[string(f.Bytes)]
		}
		return nil
	})
	return found, err == nil
}

// tagLength returns the number of bytes of a field's tag.
func tagLength(field []byte) int {
	for i, c := range field {
		if c < 0x80 {
			return i + 1
		}
	}
	return len(field)
}
