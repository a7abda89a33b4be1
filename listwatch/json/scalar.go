package json

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/relist-go/relist/listwatch/internal/wire"
)

func (p *parser) name(i int) (string, int, error) {
	if end := plainEnd(p.b, i+1); end >= 0 {
		return p.text.String(p.b[i+1 : end]), end + 1, nil
	}
	text, end, err := p.unquote(i)
	return p.text.String(text), end, err
}

func (p *parser) string(i int) (any, int, error) {
	if end := plainEnd(p.b, i+1); end >= 0 {
		return p.text.Any(p.b[i+1 : end]), end + 1, nil
	}
	text, end, err := p.unquote(i)
	if err != nil {
		return nil, end, err
	}
	return p.text.Any(text), end, nil
}

// unquote reads a string with escapes or non-ASCII characters; json/v2 decodes it.
func (p *parser) unquote(i int) ([]byte, int, error) {
	end, _, _ := wire.StringEnd(p.b, i+1) // the index has found its end
	var text string
	if err := json.Unmarshal(p.b[i:end], &text, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, i, syntaxError(i, "not a string: "+err.Error())
	}
	return []byte(text), end, nil
}

// plainEnd returns the position of the closing quote of a string that consists of printable ASCII
// without escapes. For any other string it returns ^i, which is negative: b[i] is the first byte
// that is something else, or i is len(b).
func plainEnd(b []byte, i int) int {
	for len(b)-i >= 8 {
		if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			i += bits.TrailingZeros64(m) / 8
			if b[i] == '"' {
				return i
			}
			return ^i
		}
		i += 8
	}
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i
		case c == '\\', c < ' ', c >= 0x80:
			return ^i
		}
	}
	return ^i
}

// special finds the first byte of w that is a quote, a backslash, a control character,
// or not ASCII. The lowest bit set in its result is in that byte; the result is 0 if w
// has no such byte. The subtractions borrow only into bytes above a byte that is
// found, so the lowest one is exact.
func special(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	q, b := w^(ones*'"'), w^(ones*'\\')
	return ((q-ones)&^q | (b-ones)&^b | (w-ones*' ')&^w | w) & tops
}

// number reads the number at b[i]: int64 if it is whole and fits, float64 otherwise.
func (p *parser) number(i int) (any, int, error) {
	end, whole := numberEnd(p.b, i)
	if end < 0 {
		return nil, i, syntaxError(i, "not a number")
	}
	text := p.b[i:end]
	if whole {
		if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return v, end, nil
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil, i, fmt.Errorf("number at byte %d: %w", i, err)
	}
	return v, end, nil
}

// numberEnd returns the position after a number by JSON's grammar, and whether the
// number has neither fraction nor exponent. end is negative if b[i:] does not begin
// with a number.
func numberEnd(b []byte, i int) (end int, whole bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch n := digits(b, i); {
	case n == 0, n > 1 && b[i] == '0':
		return -1, false
	default:
		i += n
	}
	whole = true
	if i < len(b) && b[i] == '.' {
		n := digits(b, i+1)
		if n == 0 {
			return -1, false
		}
		i, whole = i+1+n, false
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b, i)
		if n == 0 {
			return -1, false
		}
		i, whole = i+n, false
	}
	return i, whole
}

// digits returns how many digits begin at b[i].
func digits(b []byte, i int) (n int) {
	for i+n < len(b) && '0' <= b[i+n] && b[i+n] <= '9' {
		n++
	}
	return n
}
