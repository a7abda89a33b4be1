package objects

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Values are the parts in which one state of an object differs from all other states and objects.
type Values struct {
	// Index of the object in its [Set].
	Index int
	// Version is its resourceVersion, up to 10 digits.
	Version uint64
	// Sent is when the state came to be, in nanoseconds since 1970: the value of the annotation
	// [SentAnnotation].
	Sent int64
}

// SentAnnotation is on each object, so that its receiver knows how old the state is.
const SentAnnotation = "bench.relist-go/sent"

// Nodes is the number of nodes on which the objects are, in turn.
const Nodes = 500

// NodeName returns the name of the node of an object.
func NodeName(index int) string { return fmt.Sprintf("node-%04d", index%Nodes) }

// A place is a stretch of a template that differs from object to object. In the object
// from which the template is made it holds the placeholder, which has the length of the values.
type place struct {
	placeholder string
	write       func(dst []byte, v Values)

	// only is the one format that has this placeholder. If nil, all have it.
	only *Format
}

var (
	namePlace    = place{placeholder: "@NAM@", write: func(dst []byte, v Values) { digits(dst, uint64(v.Index), 36) }}
	versionPlace = place{placeholder: "@VERSION@@", write: func(dst []byte, v Values) { digits(dst, v.Version, 10) }}
	uidPlace     = place{placeholder: pad("@UID", 36), write: writeUID}
	addressPlace = place{placeholder: pad("@ADDRESS", 14), write: writeAddress}
	nodePlace    = place{placeholder: "@NO@", write: func(dst []byte, v Values) { digits(dst, uint64(v.Index%Nodes), 10) }}
	sentPlace    = place{placeholder: pad("@SENT", 19), write: func(dst []byte, v Values) { digits(dst, uint64(v.Sent), 10) }}
	hashPlaces   = []place{hashPlace(0), hashPlace(1), hashPlace(2), hashPlace(3)}
)

// hashPlace is for what a Pod has several of, such as the IDs of its containers.
func hashPlace(n int) place {
	return place{placeholder: pad("@HASH"+strconv.Itoa(n), 64), write: func(dst []byte, v Values) {
		for i := 0; i < len(dst); i += 16 {
			digits(dst[i:i+16], mix(uint64(v.Index), uint64(4*n+i/16)), 16)
		}
	}}
}

func pad(s string, n int) string { return s + strings.Repeat("@", n-len(s)) }

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"

// digits fills dst with the last digits of n, with zeros before them.
func digits(dst []byte, n, base uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = alphabet[n%base]
		n /= base
	}
}

// IndexOf returns the index of the object that has this name.
func IndexOf(name string) (int, error) {
	n, err := strconv.ParseInt(name[max(0, len(name)-len(namePlace.placeholder)):], len(alphabet), 0)
	if err != nil {
		return 0, fmt.Errorf("%q is not the name of an object: %w", name, err)
	}
	return int(n), nil
}

// mix returns 64 bits that look random (splitmix64).
func mix(n, salt uint64) uint64 {
	n += (salt + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func writeUID(dst []byte, v Values) { uidOf(dst, uint64(v.Index), 100) }

func uidOf(dst []byte, n, salt uint64) {
	digits(dst[:18], mix(n, salt), 16)
	digits(dst[18:], mix(n, salt+1), 16)
	dst[8], dst[13], dst[18], dst[23] = '-', '-', '-', '-'
}

// writeAddress writes 10.x.y.z with three digits each.
func writeAddress(dst []byte, v Values) {
	n := v.Index
	copy(dst, "10.")
	for _, i := range []int{11, 7, 3} {
		dst[i-1] = '.'
		digits(dst[i:i+3], uint64(100+n%150), 10)
		n /= 150
	}
}

// A Template is an encoded object with places to be written.
type Template struct {
	encoded []byte
	slots   []slot
}

type slot struct {
	begin, end int
	write      func(dst []byte, v Values)
}

// newTemplate finds the placeholders in an encoded object: those that every object may
// have, and those of its kind.
func newTemplate(encoded []byte, f Format, more []place) Template {
	t := Template{encoded: encoded}
	places := append([]place{namePlace, versionPlace, uidPlace, addressPlace, nodePlace, sentPlace}, hashPlaces...)
	for _, p := range append(places, more...) {
		if p.only != nil && *p.only != f {
			continue
		}
		for from := 0; ; {
			at := bytes.Index(encoded[from:], []byte(p.placeholder))
			if at < 0 {
				break
			}
			begin := from + at
			from = begin + len(p.placeholder)
			t.slots = append(t.slots, slot{begin, from, p.write})
		}
	}
	slices.SortFunc(t.slots, func(a, b slot) int { return a.begin - b.begin })
	return t
}

// Append appends an object.
func (t Template) Append(dst []byte, v Values) []byte {
	base := len(dst)
	dst = append(dst, t.encoded...)
	for _, s := range t.slots {
		s.write(dst[base+s.begin:base+s.end], v)
	}
	return dst
}

// Len returns the length of the object, which is that of every other of this template.
func (t Template) Len() int { return len(t.encoded) }

func appendField(dst []byte, number int, value []byte) []byte {
	dst = append(dst, byte(number<<3|2))
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}
