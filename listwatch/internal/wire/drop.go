package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relist-go/relist/listwatch/format"
)

// ParsePath splits a path such as spec.containers.env into its names. A dot in a name is
// written \. and a backslash \\, as in kubectl.
func ParsePath(path string) (names []string, err error) {
	var name strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '.':
			names = append(names, name.String())
			name.Reset()
		case '\\':
			if i++; i == len(path) || path[i] != '.' && path[i] != '\\' {
				return nil, errors.New(`a backslash must be followed by a dot or another one`)
			}
			name.WriteByte(path[i])
		default:
			name.WriteByte(c)
		}
	}
	names = append(names, name.String())
	if slices.Contains(names, "") {
		return nil, errors.New("a name is missing")
	}
	return names, nil
}

// Drop leaves members out of JSON objects. The zero value leaves out no member.
type Drop struct {
	children map[string]*Drop
	all      bool // the member itself is dropped
}

// Without returns a function that calls unmarshal with an object in JSON that lacks the members at
// paths.
func Without(paths [][]string, unmarshal func(object []byte, into any) error) (func(object []byte, into any) error, error) {
	if len(paths) == 0 {
		return unmarshal, nil
	}
	drop, err := NewDrop(paths)
	if err != nil {
		return nil, err
	}
	return format.Without(drop.Append, unmarshal), nil
}

// NewDrop returns a Drop for the members at paths. If a path leads through an array, it
// applies to every element. NewDrop refuses paths to members that identify the object.
func NewDrop(paths [][]string) (*Drop, error) {
	root := &Drop{}
	for _, path := range paths {
		if isIdentity(path) {
			return nil, fmt.Errorf("%s says which object it is", strings.Join(path, "."))
		}
		root.add(path)
	}
	return root, nil
}

func isIdentity(path []string) bool {
	switch path[0] {
	case "kind", "apiVersion":
		return true
	case "metadata":
		if len(path) == 1 {
			return true
		}
		switch path[1] {
		case "name", "namespace", "uid", "resourceVersion":
			return true
		}
	}
	return false
}

func (d *Drop) add(path []string) {
	for _, name := range path {
		if d.children == nil {
			d.children = make(map[string]*Drop)
		}
		child := d.children[name]
		if child == nil {
			child = &Drop{}
			d.children[name] = child
		}
		d = child
	}
	d.all = true
}

// Append appends value, which is an object or array, to dst without the dropped members.
// If value is not JSON, it is appended unchanged, and the decoder returns the error. dst
// and value must not overlap.
func (d *Drop) Append(dst, value []byte) []byte {
	before := len(dst)
	m := MembersOf(value)
	if m.ended {
		return append(dst, value...)
	}
	dst = append(dst, m.closer-2) // '{' and '}', as '[' and ']', are two apart
	opened := len(dst)
	for m.Next() {
		var child *Drop
		switch {
		case m.closer == '}':
			child = d.children[string(m.Name)]
		case m.Value[0] == '{': // the API has no array inside an array
			child = d
		}
		if child != nil && child.all {
			continue
		}
		if len(dst) > opened {
			dst = append(dst, ',')
		}
		if child == nil {
			dst = append(dst, value[m.Start:m.End]...)
			continue
		}
		dst = append(dst, value[m.Start:m.End-len(m.Value)]...)
		dst = child.Append(dst, m.Value)
	}
	if !m.Closed() {
		return append(dst[:before], value...)
	}
	return append(dst, m.closer)
}
