package wire

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Members walks through the members of an object, or the elements of an array, in
// their order.
//
//	for m := wire.MembersOf(object); m.Next(); {
//		... m.Name, m.Value
//	}
//
// It ends early if the bytes are not JSON.
type Members struct {
	// Name is the member's name, without quotes and escapes. It is empty in arrays.
	Name []byte

	// Value is the member's value as it is in the object, without white space around it.
	Value []byte

	// Start is the position of the member's first byte, which is the quote of its name,
	// or, in an array, the first byte of the value. End is the position after the last
	// byte of the value.
	Start, End int

	b      []byte
	closer byte
	ended  bool
	closed bool // the closing bracket has come, and nothing after it
}

// MembersOf returns the members of an object or array. It has none if b is neither.
func MembersOf(b []byte) Members {
	m := Members{b: b, ended: true}
	i := space(b, 0)
	if i < len(b) {
		switch b[i] {
		case '{':
			m.closer, m.ended = '}', false
		case '[':
			m.closer, m.ended = ']', false
		}
	}
	m.End = i + 1
	return m
}

// Next goes to the next member, and reports whether there is one.
func (m *Members) Next() bool {
	return m.name() && m.value()
}

// Closed reports whether Next has reached the closing bracket, and nothing but white
// space follows.
func (m *Members) Closed() bool { return m.closed }

// Text returns the text of a member whose value is a string: without quotes and escapes.
func (m *Members) Text() []byte { return unquote(m.Value) }

// name moves to the next member, and behind its name.
func (m *Members) name() bool {
	if m.ended {
		return false
	}
	first := m.Start == 0
	m.ended = true
	i := space(m.b, m.End)
	if i >= len(m.b) {
		return false
	}
	if m.b[i] == m.closer {
		m.closed = space(m.b, i+1) == len(m.b)
		return false
	}
	if !first {
		if m.b[i] != ',' {
			return false
		}
		if i = space(m.b, i+1); i >= len(m.b) || m.b[i] == m.closer {
			return false
		}
	}
	m.Start = i
	if m.closer == ']' {
		m.End, m.ended = i, false
		return true
	}
	if m.b[i] != '"' {
		return false
	}
	end, _, ok := StringEnd(m.b, i+1)
	if !ok {
		return false
	}
	m.Name = unquote(m.b[i:end])
	i = space(m.b, end)
	if i >= len(m.b) || m.b[i] != ':' {
		return false
	}
	m.End, m.ended = space(m.b, i+1), false
	return true
}

// value reads the value of the member that name moved to.
func (m *Members) value() bool {
	i := m.End
	end, ok := skip(m.b, i)
	if !ok {
		m.ended = true
		return false
	}
	m.Value, m.End = m.b[i:end], end
	return true
}

func unquote(quoted []byte) []byte {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil && len(text) == 0 {
		return inside // not JSON, so there is nothing to unquote
	}
	return text
}
