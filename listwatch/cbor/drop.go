package cbor

// drop leaves members out of an item.
type drop struct {
	all      bool // the member itself is dropped
	children map[string]*drop
}

// newDrop returns a drop for the members at paths.
func newDrop(paths [][]string) *drop {
	root := &drop{}
	for _, path := range paths {
		d := root
		for _, name := range path {
			child := d.children[name]
			if child == nil {
				child = &drop{}
				if d.children == nil {
					d.children = make(map[string]*drop)
				}
				d.children[name] = child
			}
			d = child
		}
		d.all = true
	}
	return root
}

// object appends an object to dst without the dropped members. If the bytes are not one
// item, they are appended unchanged, and the decoder returns the error.
func (d *drop) object(dst, object []byte) []byte {
	before := len(dst)
	out, rest, ok := d.append(dst, object, false)
	if !ok || len(rest) > 0 {
		return append(out[:before], object...)
	}
	return out
}

// append takes the first item off data, and appends it to dst without the dropped
// members. It leaves an array inside an array unchanged, because the API has none.
func (d *drop) append(dst, data []byte, inArray bool) (out, rest []byte, ok bool) {
	head, inside, err := readHead(data)
	for err == nil && head.Major == majorTag && !head.Indefinite {
		dst = append(dst, data[:len(data)-len(inside)]...)
		data = inside
		head, inside, err = readHead(data)
	}
	if err != nil {
		return dst, nil, false
	}
	if head.Major != majorMap && (head.Major != majorArray || inArray) {
		item, rest, err := firstItem(data)
		return append(dst, item...), rest, err == nil
	}
	start, size := len(dst), len(data)-len(inside)
	dst = append(dst, data[:size]...)
	kept := uint64(0)
	for n := uint64(0); head.Indefinite || n < head.Argument; n++ {
		if head.Indefinite && len(inside) > 0 && inside[0] == breakByte {
			return append(dst, breakByte), inside[1:], true
		}
		before := len(dst)
		if head.Major == majorArray {
			dst, inside, ok = d.append(dst, inside, true)
		} else {
			dst, inside, ok = d.pair(dst, inside)
		}
		if !ok {
			return dst, nil, false
		}
		if len(dst) > before {
			kept++
		}
	}
	setArgument(dst[start:start+size], kept)
	return dst, inside, true
}

// pair takes a member of a map off data, and appends it to dst unless it is dropped.
func (d *drop) pair(dst, data []byte) (out, rest []byte, ok bool) {
	name, value, err := firstItem(data)
	if err != nil {
		return dst, nil, false
	}
	child := d.children[string(textOf(name))]
	if child != nil && !child.all {
		return child.append(append(dst, name...), value, false)
	}
	item, rest, err := firstItem(value)
	if err != nil || child != nil {
		return dst, rest, err == nil
	}
	return append(append(dst, name...), item...), rest, true
}

// setArgument changes the argument of a head. The new argument is not larger than the
// old one, so it fits into the same bytes.
func setArgument(head []byte, argument uint64) {
	if len(head) == 1 {
		head[0] = head[0]&^31 | byte(argument) // the new argument is less than 24, as the old one was
		return
	}
	for i := len(head) - 1; i > 0; i-- {
		head[i] = byte(argument) // the lowest byte
		argument >>= 8
	}
}
