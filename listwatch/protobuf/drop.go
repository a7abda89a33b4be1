package protobuf

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

// drop leaves fields out of a message. A path consists of names from JSON; the tags of the object's
// type give the field numbers of protobuf.
type drop struct {
	all    bool             // the field itself is dropped
	fields map[int]*drop    // by number, of a message
	keys   map[string]*drop // by key, of the entries of a map
}

func newDrop(typ reflect.Type, paths [][]string) (*drop, error) {
	if _, err := wire.NewDrop(paths); err != nil {
		return nil, err
	}
	root := &drop{}
	for _, path := range paths {
		if err := root.add(typ, path); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(path, "."), err)
		}
	}
	return root, nil
}

// object appends an object, with or without an envelope, to dst. If the object is not a message, it
// is appended unchanged, and the decoder returns the error.
func (d *drop) object(dst, object []byte) []byte {
	before, in, message := len(dst), d, object
	if inside, ok := bytes.CutPrefix(object, magic); ok {
		dst, in, message = append(dst, magic...), &drop{fields: map[int]*drop{unknownRaw: d}}, inside
	}
	out, ok := in.append(dst, message)
	if !ok {
		return append(out[:before], object...)
	}
	return out
}

// add adds a path in typ. A path to a member that does not exist drops nothing.
func (d *drop) add(typ reflect.Type, path []string) error {
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
			d.keys = make(map[string]*drop)
		}
		return child(d.keys, path[0]).add(typ.Elem(), path[1:])
	case reflect.Struct:
		return d.addField(typ, path)
	default:
		return nil
	}
}

func (d *drop) addField(typ reflect.Type, path []string) error {
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
			continue // TypeMeta, which is in the envelope
		case err != nil:
			return fmt.Errorf("%v says no field number for %s", typ, path[0])
		}
		if d.fields == nil {
			d.fields = make(map[int]*drop)
		}
		rest := path
		if !inline {
			rest = path[1:]
		}
		// JSON puts the fields of an embedded struct beside the other fields. Protobuf puts them in
		// a message of their own.
		if err := child(d.fields, number).add(field.Type, rest); err != nil {
			return err
		}
	}
	return nil
}

func child[K comparable](children map[K]*drop, key K) *drop {
	c := children[key]
	if c == nil {
		c = &drop{}
		children[key] = c
	}
	return c
}

// nothing reports whether no path ends here or below. This is so if a path leads on from a field
// that is not a message, such as a string. Such a field must not be read as a message.
func (d *drop) nothing() bool { return !d.all && d.fields == nil && d.keys == nil }

// append appends message to dst without the dropped fields. It returns false if the bytes are not a
// message.
func (d *drop) append(dst, message []byte) ([]byte, bool) {
	for len(message) > 0 {
		field, rest, err := protowire.Next(message)
		if err != nil {
			return dst, false
		}
		raw := message[:len(message)-len(rest)]
		message = rest
		sub := d.fields[field.Number]
		switch {
		case sub == nil || sub.nothing() || field.Type != protowire.Bytes && !sub.all:
			dst = append(dst, raw...)
			continue
		case sub.all:
			continue
		case sub.keys != nil:
			entry, ok := sub.entry(field.Bytes)
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
			sub = &drop{fields: map[int]*drop{mapValue: entry}}
		}
		// The length comes before the content, but is only known after it.
		dst = append(dst, raw[:tagLength(raw)]...)
		start := len(dst)
		var ok bool
		if dst, ok = sub.append(dst, field.Bytes); !ok {
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

// entry returns the drop for an entry of a map, or nil if nothing of the entry is dropped.
func (d *drop) entry(message []byte) (_ *drop, ok bool) {
	var found *drop
	err := protowire.Each(message, func(f protowire.Field) error {
		if f.Number == mapKey {
			found = d.keys[string(f.Bytes)]
		}
		return nil
	})
	return found, err == nil
}

func tagLength(field []byte) int {
	for i, c := range field {
		if c < 0x80 {
			return i + 1
		}
	}
	return len(field)
}
