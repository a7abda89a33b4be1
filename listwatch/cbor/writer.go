package cbor

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-json-experiment/json"
)

// writer writes JSON as RFC 8949 says in section 6.1, except for byte strings: in
// Kubernetes they are text.
type writer struct {
	out     []byte
	members []int // where the members of the present maps begin in out, those of the outermost map first

	encode func(dst, src []byte) []byte // the encoding of the present string; nil: text
	begin  int                          // of the present string in out

	spans   []span
	scratch []byte
}

// maxSorted is how deep a map may be for its members to be sorted. It bounds how often a
// byte is moved.
const maxSorted = 128

// keepBuffer is the largest memory that is kept for the JSON of the next item.
const keepBuffer = 1 << 20

// reset prepares for another item. The JSON of the last one is valid until more is written.
func (w *writer) reset() {
	if cap(w.out) > keepBuffer {
		*w = writer{}
	}
	w.out, w.members = w.out[:0], w.members[:0]
}

// separate writes what stands before an item of the level.
func (w *writer) separate(l *level) {
	key := l.atKey()
	switch {
	case l.bracket == '{' && !key:
		w.out = append(w.out, ':')
	case l.begun && l.bracket != '"':
		w.out = append(w.out, ',')
	}
	if key {
		w.members = append(w.members, len(w.out))
	}
}

// scalar writes a number or a simple value, as text in place of a key.
func (w *writer) scalar(major, info byte, argument uint64, key bool) {
	begin := len(w.out)
	switch {
	case major == majorUnsigned:
		w.out = strconv.AppendUint(w.out, argument, 10)
	case major == majorNegative && argument <= math.MaxInt64:
		w.out = strconv.AppendInt(w.out, -1-int64(argument), 10)
	case major == majorNegative:
		w.float(-1 - float64(argument))
	case info == 20:
		w.out = append(w.out, "false"...)
	case info == 21:
		w.out = append(w.out, "true"...)
	case info == 25:
		var half float32
		_ = cbor.Unmarshal(binary.BigEndian.AppendUint16([]byte{majorSimple<<5 | info}, uint16(argument)), &half) // every float is one
		w.float(float64(half))
	case info == 26:
		w.float(float64(math.Float32frombits(uint32(argument))))
	case info == 27:
		w.float(math.Float64frombits(argument))
	default:
		w.out = append(w.out, "null"...)
	}
	if key {
		w.out = append(slices.Insert(w.out, begin, '"'), '"')
	}
}

func (w *writer) float(f float64) {
	text, err := json.Marshal(f)
	if err != nil {
		text = []byte("null") // not a number, or infinite
	}
	w.out = append(w.out, text...)
}

// encodings are those that a tag can ask for where bytes become text (section 3.4.5.2).
var encodings = map[uint64]func(dst, src []byte) []byte{
	21: base64.RawURLEncoding.AppendEncode,
	22: base64.StdEncoding.AppendEncode,
	23: hex.AppendEncode,
}

// beginText begins a string.
func (w *writer) beginText(tag uint64, tagged bool) {
	w.encode = nil
	if tagged {
		w.encode = encodings[tag]
	}
	w.out = append(w.out, '"')
	w.begin = len(w.out)
}

// text writes a piece of a string. Decoders replace bytes that are not UTF-8.
func (w *writer) text(piece []byte) {
	if w.encode != nil {
		w.out = append(w.out, piece...)
		return
	}
	for {
		n := 0
		for n < len(piece) && piece[n] >= ' ' && piece[n] != '"' && piece[n] != '\\' {
			n++
		}
		if w.out = append(w.out, piece[:n]...); n == len(piece) {
			return
		}
		if c := piece[n]; c >= ' ' {
			w.out = append(w.out, '\\', c)
		} else {
			w.out = append(w.out, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
		piece = piece[n+1:]
	}
}

// endText ends a string.
func (w *writer) endText() {
	if w.encode != nil {
		w.scratch = append(w.scratch[:0], w.out[w.begin:]...)
		w.out = w.encode(w.out[:w.begin], w.scratch)
	}
	w.out = append(w.out, '"')
}

// enter begins an array, an object, or a string in chunks, whose quote is written already.
// It returns where the members of an object begin.
func (w *writer) enter(bracket byte) (members int) {
	if bracket != '"' {
		w.out = append(w.out, bracket)
	}
	return len(w.members)
}

// leave ends what enter began.
func (w *writer) leave(l level, sorted bool) {
	if l.bracket == '"' {
		w.endText()
		return
	}
	if sorted {
		w.sort(w.members[l.members:])
	}
	w.members = w.members[:min(l.members, len(w.members))] // reset has removed those of the outer levels
	w.out = append(w.out, l.bracket+2)                     // ']' and '}' come two after '[' and '{'
}

// span is a member of an object in out.
type span struct{ start, end int }

// memberName returns the name of a member, with its quotes.
func memberName(member []byte) []byte {
	for i := 1; i < len(member); i++ {
		switch member[i] {
		case '\\':
			i++
		case '"':
			return member[:i+1]
		}
	}
	return member
}

// sort sorts the members at the end of out by their names. An API server sends them in any
// order, and raw JSON in an object, such as FieldsV1, must be the same each time.
func (w *writer) sort(starts []int) {
	w.spans = w.spans[:0]
	for i, start := range starts {
		end := len(w.out)
		if i+1 < len(starts) {
			end = starts[i+1] - 1 // a comma
		}
		w.spans = append(w.spans, span{start, end})
	}
	compare := func(a, b span) int {
		return bytes.Compare(memberName(w.out[a.start:a.end]), memberName(w.out[b.start:b.end]))
	}
	if slices.IsSortedFunc(w.spans, compare) {
		return
	}
	slices.SortStableFunc(w.spans, compare) // of several members with one name, the last one counts, as in JSON
	w.scratch = w.scratch[:0]
	for _, m := range w.spans {
		w.scratch = append(append(w.scratch, w.out[m.start:m.end]...), ',')
	}
	copy(w.out[starts[0]:], w.scratch) // but for the last comma, for which out has no room
}
