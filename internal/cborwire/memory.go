package cborwire

import (
	"encoding/binary"
	"errors"
)

// ErrTruncated is the error for an item that is not all there.
var ErrTruncated = errors.New("cbor: the item ends too early")

// Head is what an item begins with.
type Head struct {
	Major      byte
	Argument   uint64 // the value, or the number of bytes, items or pairs, or the tag
	Indefinite bool   // there is no such number: a break ends the item
	Null       bool
}

// ReadHead takes the head off an item. A head that has no meaning is an error of
// whoever reads the item.
func ReadHead(data []byte) (head Head, rest []byte, err error) {
	if len(data) == 0 {
		return Head{}, nil, ErrTruncated
	}
	c, rest := data[0], data[1:]
	head = Head{Major: c >> 5, Null: c == Simple<<5|22}
	switch info := c & 31; {
	case info < infoOneByte:
		head.Argument = uint64(info)
	case info <= infoEightBytes:
		size := 1 << (info - infoOneByte)
		if len(rest) < size {
			return Head{}, nil, ErrTruncated
		}
		var argument [8]byte
		copy(argument[8-size:], rest)
		head.Argument, rest = binary.BigEndian.Uint64(argument[:]), rest[size:]
	case info == infoIndefinite:
		head.Indefinite = true
	}
	return head, rest, nil
}

// Item takes the first item off data. If it is not all there, it returns what there is
// with ErrTruncated.
func Item(data []byte) (item, rest []byte, err error) {
	var s Scanner
	n, done, err := s.Scan(data)
	switch {
	case err != nil:
		return nil, nil, err
	case !done:
		return data, nil, ErrTruncated
	}
	return data[:n:n], data[n:], nil
}

// OpenMap takes the head off a map, and any tags before it, such as the one that says
// of all that follows that it is CBOR. more tells whether a pair is left; ok is false
// if data is no map.
func OpenMap(data []byte) (m Pairs, ok bool) {
	for {
		head, rest, err := ReadHead(data)
		switch {
		case err != nil:
			return Pairs{}, false
		case head.Major == Tag && !head.Indefinite:
			data = rest
		default:
			return Pairs{left: head.Argument, indefinite: head.Indefinite, data: rest}, head.Major == Map
		}
	}
}

// Pairs goes through a map.
type Pairs struct {
	left       uint64
	indefinite bool
	data       []byte
}

// Next returns the next pair. ok is false at the end, and where the map breaks off; then
// err says so, and value may be what there is of one.
func (p *Pairs) Next() (key string, value []byte, ok bool, err error) {
	if p.indefinite && len(p.data) > 0 && p.data[0] == breakByte || !p.indefinite && p.left == 0 {
		return "", nil, false, nil
	}
	p.left--
	name, rest, err := Item(p.data)
	if err != nil {
		return "", nil, false, err
	}
	if value, p.data, err = Item(rest); err != nil {
		return String(name), value, false, err
	}
	return String(name), value, true, nil
}

// String returns the text of a string of definite length, in either of the two types:
// Kubernetes uses both. It is "" for everything else, and for strings that are not all
// there.
func String(item []byte) string {
	head, rest, err := ReadHead(item)
	if err != nil || head.Indefinite || head.Major != Bytes && head.Major != Text || head.Argument > uint64(len(rest)) {
		return ""
	}
	return string(rest[:head.Argument])
}
