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
	for ; i < len(b); i++ {
		if len(b)-i >= 8 {
			m := quotesOrBackslashes(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 7
				continue
			}
			i += bits.TrailingZeros64(m) / 8
		}
		switch b[i] {
		case '"':
			return i + 1, false, true
		case '\\':
			if i++; i == len(b) { // whatever a backslash escapes, it is no end of the string
				return i, true, false
			}
		}
	}
	return len(b), false, false
}

// quotesOrBackslashes returns a word in which the lowest bit that is set is in the
// first byte of w that is a quote or a backslash; 0 if none is. Subtracting 1 from
// each byte borrows only above a byte that is 0, so the lowest one is exact.
func quotesOrBackslashes(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	q, b := w^(ones*'"'), w^(ones*'\\')
	return ((q-ones)&^q | (b-ones)&^b) & tops
}
