package cbor

import (
	"encoding/binary"
	"errors"
)

// errTruncated is the error for an item that is cut off.
var errTruncated = errors.New("cbor: the item ends too early")

// itemHead is the head of an item: its type, and its value or size.
type itemHead struct {
	Major      byte
	Argument   uint64 // the value, or the number of bytes, items or pairs, or the tag
	Indefinite bool   // the head has no size: a break ends the item
	Null       bool
}

// readHead takes the head off an item. It does not refuse heads without a meaning; the code
// that reads the item does.
func readHead(data []byte) (head itemHead, rest []byte, err error) {
	if len(data) == 0 {
		return itemHead{}, nil, errTruncated
	}
	c, rest := data[0], data[1:]
	head = itemHead{Major: c >> 5, Null: c == majorSimple<<5|22}
	switch info := c & 31; {
	case info < infoOneByte:
		head.Argument = uint64(info)
	case info <= infoEightBytes:
		size := 1 << (info - infoOneByte)
		if len(rest) < size {
			return itemHead{}, nil, errTruncated
		}
		var argument [8]byte
		copy(argument[8-size:], rest)
		head.Argument, rest = binary.BigEndian.Uint64(argument[:]), rest[size:]
	case info == infoIndefinite:
		head.Indefinite = true
	}
	return head, rest, nil
}

// firstItem takes the first item off data. If the item is cut off, firstItem returns the
// part that is there and errTruncated.
func firstItem(data []byte) (item, rest []byte, err error) {
	var s scanner
	n, done, err := s.Scan(data)
	switch {
	case err != nil:
		return nil, nil, err
	case !done:
		return data, nil, errTruncated
	}
	return data[:n:n], data[n:], nil
}

// openPairs takes the head off a map, and any tags before it, such as the tag that marks
// data as CBOR. ok is false if data is not a map.
func openPairs(data []byte) (m pairs, ok bool) {
	for {
		head, rest, err := readHead(data)
		switch {
		case err != nil:
			return pairs{}, false
		case head.Major == majorTag && !head.Indefinite:
			data = rest
		default:
			return pairs{left: head.Argument, indefinite: head.Indefinite, data: rest}, head.Major == majorMap
		}
	}
}

// pairs walks through the members of a map.
type pairs struct {
	left       uint64
	indefinite bool
	data       []byte
}

// next returns the next pair. At the end of the map, ok is false. If the map is cut off or
// malformed, ok is false, err says why, and value may be a part of a value.
func (p *pairs) next() (key, value []byte, ok bool, err error) {
	if p.indefinite && len(p.data) > 0 && p.data[0] == breakByte || !p.indefinite && p.left == 0 {
		return nil, nil, false, nil
	}
	p.left--
	name, rest, err := firstItem(p.data)
	if err != nil {
		return nil, nil, false, err
	}
	if value, p.data, err = firstItem(rest); err != nil {
		return textOf(name), value, false, err
	}
	return textOf(name), value, true, nil
}

// textOf returns the text of a string that states its length. The string may be a text
// string or a byte string, because Kubernetes uses both. textOf returns nil for other
// items, and for strings that are cut off.
func textOf(item []byte) []byte {
	head, rest, err := readHead(item)
	if err != nil || head.Indefinite || head.Major != majorBytes && head.Major != majorText || head.Argument > uint64(len(rest)) {
		return nil
	}
	return rest[:head.Argument:head.Argument]
}
