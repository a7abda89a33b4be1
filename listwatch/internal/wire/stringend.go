package wire

import (
	"encoding/binary"
	"math/bits"
)

// StringEnd returns the place after the quote that ends a string, of which b[i] is a byte
// that is not escaped. If the quote is not there, end is len(b), ok is false, and
// escaped says whether the byte that comes next is escaped.
//
// It takes eight bytes at a time; most strings are shorter than a few of these. Finding
// the ends of strings is what takes the time when bytes are cut and not decoded: two
// thirds of a Pod's bytes are strings.
func StringEnd(b []byte, i int) (end int, escaped, ok bool) {
	for {
		for len(b)-i >= 8 {
			if m := quotesOrBackslashes(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' {
			i++
		}
		switch {
		case i >= len(b):
			return len(b), false, false
		case b[i] == '"':
			return i + 1, false, true
		case i+1 == len(b):
			return len(b), true, false
		}
		i += 2 // whatever a backslash escapes, it is no end of the string
	}
}

// quotesOrBackslashes returns a word in which the lowest bit that is set is in the
// first byte of w that is a quote or a backslash; 0 if none is. Subtracting 1 from
// each byte borrows only above a byte that is 0, so the lowest one is exact.
func quotesOrBackslashes(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	q, b := w^(ones*'"'), w^(ones*'\\')
	return ((q-ones)&^q | (b-ones)&^b) & tops
}
