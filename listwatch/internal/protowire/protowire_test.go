package protowire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// fields returns one line for each field of a message.
func fields(message []byte) (lines []string, err error) {
	for len(message) > 0 {
		f, rest, err := Next(message)
		if err != nil {
			if f.Bytes != nil {
				lines = append(lines, fmt.Sprintf("%d=%q...", f.Number, f.Bytes))
			}
			return lines, err
		}
		lines = append(lines, line(f))
		message = rest
	}
	return lines, nil
}

func line(f Field) string {
	switch f.Type {
	case Bytes:
		return fmt.Sprintf("%d=%q", f.Number, f.Bytes)
	case Varint:
		return fmt.Sprintf("%d=%d", f.Number, f.Uint)
	default:
		return fmt.Sprintf("%d fixed", f.Number)
	}
}

// readFields does the same with a Reader.
func readFields(r io.Reader) (lines []string, err error) {
	wire := NewReader(r)
	for {
		f := Field{}
		if f.Number, f.Type, err = wire.Tag(); err != nil {
			return lines, err
		}
		switch f.Type {
		case Varint:
			f.Uint, err = wire.Uvarint()
		case Bytes:
			var n uint64
			if n, err = wire.Uvarint(); err == nil {
				if n > 1<<20 {
					return lines, ErrTruncated
				}
				f.Bytes, err = wire.Bytes(int(n))
			}
		default:
			err = wire.Skip(f.Type)
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, line(f))
	}
}

var messages = map[string]struct {
	message string
	want    string
	err     string // "" is no error
}{
	"nothing":                {"", "", ""},
	"a number":               {"\x08\x96\x01", "1=150", ""},
	"text":                   {"\x12\x07testing", `2="testing"`, ""},
	"no text":                {"\x12\x00", `2=""`, ""},
	"fixed sizes":            {"\x09\x01\x02\x03\x04\x05\x06\x07\x08\x15\x01\x02\x03\x04", "1 fixed 2 fixed", ""},
	"the largest number":     {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", fmt.Sprint("1=", uint64(math.MaxUint64)), ""},
	"the largest field":      {"\xf8\xff\xff\xff\x0f\x01", "536870911=1", ""},
	"a longer way to say 1":  {"\x08\x81\x80\x00", "1=1", ""},
	"field 0":                {"\x00\x01", "", "field number 0"},
	"too large a field":      {"\x80\x80\x80\x80\x10\x01", "", "field number 536870912"},
	"a group":                {"\x0b\x0c", "", "wire type 3"},
	"an unknown type":        {"\x0f", "", "wire type 7"},
	"65 bits":                {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "", "longer than 64 bits"},
	"a number without end":   {"\x08" + strings.Repeat("\x80", 20), "", "longer than 64 bits"},
	"end in a tag":           {"\x08\x01\x92", "1=1", "ends inside"},
	"end in a number":        {"\x08\x96", "", "ends inside"},
	"end after a tag":        {"\x08", "", "ends inside"},
	"end in a length":        {"\x12\x80", "", "ends inside"},
	"end in text":            {"\x12\x07test", `2="test"...`, "ends inside"},
	"end in a fixed size":    {"\x15\x01", "", "ends inside"},
	"a length beyond memory": {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", `2="x"...`, "ends inside"},
}

func TestNext(t *testing.T) {
	for name, test := range messages {
		t.Run(name, func(t *testing.T) {
			lines, err := fields([]byte(test.message))
			if got := strings.Join(lines, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			var wire Error
			if (err == nil) != (test.err == "") || err != nil && (!errors.As(err, &wire) || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error is %v, want %q", err, test.err)
			}
			visited := 0
			eachErr := Each([]byte(test.message), func(Field) error { visited++; return nil })
			if visited != len(lines) || !errors.Is(eachErr, err) {
				t.Errorf("Each has visited %d fields, and returned %v", visited, eachErr)
			}
		})
	}
}

func TestReader(t *testing.T) {
	for name, test := range messages {
		t.Run(name, func(t *testing.T) {
			lines, err := readFields(iotest.OneByteReader(strings.NewReader(test.message)))
			whole, _ := fields([]byte(test.message))
			if want := trimTorn(whole); !slices.Equal(want, lines) {
				t.Errorf("got %q, want %q", lines, want)
			}
			switch {
			case test.err == "" && err != io.EOF, //nolint:errorlint // the bare one is what says "at the end"
				test.err == "ends inside" && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrTruncated):
				t.Errorf("error is %v", err)
			case test.err != "" && test.err != "ends inside" && !strings.Contains(err.Error(), test.err):
				t.Errorf("error is %v, want %q", err, test.err)
			}
		})
	}
}

// trimTorn leaves out the field that is cut off, because a Reader does not
// return such a field.
func trimTorn(lines []string) []string {
	if n := len(lines); n > 0 && strings.HasSuffix(lines[n-1], "...") {
		return lines[:n-1]
	}
	return lines
}

func TestReaderSkips(t *testing.T) {
	const message = "\x08\x96\x01\x12\x07testing\x15\x01\x02\x03\x04\x09\x01\x02\x03\x04\x05\x06\x07\x08"
	r := NewReader(strings.NewReader(message))
	for n := 0; ; n++ {
		_, typ, err := r.Tag()
		if errors.Is(err, io.EOF) && n == 4 {
			break
		}
		if err == nil {
			err = r.Skip(typ)
		}
		if err != nil {
			t.Fatalf("field %d: %v", n, err)
		}
	}
	if r.Offset() != int64(len(message)) {
		t.Errorf("offset is %d, want %d", r.Offset(), len(message))
	}
	for cut := 1; cut < len(message); cut++ {
		r := NewReader(strings.NewReader(message[:cut]))
		var err error
		for err == nil {
			var typ Type
			if _, typ, err = r.Tag(); err == nil {
				err = r.Skip(typ)
			}
		}
		if whole := cut == 3 || cut == 12 || cut == 17; errors.Is(err, io.ErrUnexpectedEOF) == whole {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
}

// TestReaderTakesNoMemoryForALie has a length that is larger than the message.
func TestReaderTakesNoMemoryForALie(t *testing.T) {
	r := NewReader(strings.NewReader("abc"))
	if _, err := r.Bytes(1 << 30); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("error is %v", err)
	}
	if got := r.scratch.Cap(); got > 1<<20 {
		t.Errorf("%d bytes were taken for 3 that came", got)
	}
}

func TestReaderReadsLargeAndSmall(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), keepScratch/5)
	r := NewReader(iotest.HalfReader(bytes.NewReader(append(append([]byte("ab"), large...), "cd"+string(large[:bufferSize+1])...))))
	for _, want := range [][]byte{[]byte("ab"), large, []byte("cd"), large[:bufferSize+1]} {
		got, err := r.Bytes(len(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v, want %d", len(got), err, len(want))
		}
	}
	if got := r.scratch.Cap(); got > keepScratch {
		t.Errorf("%d bytes are kept", got)
	}
}

func TestReaderReturnsTheReadersErrors(t *testing.T) {
	broken := errors.New("connection reset")
	for _, in := range []string{"", "\x12", "\x12\x07test"} {
		_, err := readFields(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("after %q: %v", in, err)
		}
	}
}

// FuzzMessage reads any bytes with Next and with a Reader. Both must find the
// same fields.
func FuzzMessage(f *testing.F) {
	for _, m := range messages {
		f.Add([]byte(m.message))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		want, wantErr := fields(message)
		got, err := readFields(iotest.OneByteReader(bytes.NewReader(message)))
		if wantErr == nil && err != io.EOF || wantErr != nil && err == io.EOF { //nolint:errorlint // as above
			t.Fatalf("%x: in memory %v, from a reader %v", message, wantErr, err)
		}
		if want = trimTorn(want); !slices.Equal(want, got) {
			t.Fatalf("%x: in memory %q, from a reader %q", message, want, got)
		}
	})
}
