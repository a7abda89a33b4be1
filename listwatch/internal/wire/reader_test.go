package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
)

// values reads an array, element by element.
func values(r *Reader) (values []string, err error) {
	if err := r.Expect('['); err != nil {
		return nil, err
	}
	for {
		value, err := r.Value()
		if err != nil {
			return values, err
		}
		values = append(values, string(value))
		more, err := r.Separator(']')
		if !more {
			return values, err
		}
	}
}

func TestReader(t *testing.T) {
	long := `"` + strings.Repeat("x", minBuffer) + `"`
	huge := `{"a":[` + strings.Repeat(long+",", 17) + `1]}`
	elements := []string{`1`, `-2.5e3`, `"a\"]"`, `{"b":"]"}`, `[[]]`, `null`, long, huge, `true`, long, `{}`}
	text := " [ " + strings.Join(elements, " ,\n") + " ] "
	for name, split := range map[string]func(io.Reader) io.Reader{
		"whole":                   func(r io.Reader) io.Reader { return r },
		"halves":                  iotest.HalfReader,
		"bytewise":                iotest.OneByteReader,
		"end with the last bytes": iotest.DataErrReader,
	} {
		r := NewReader(split(strings.NewReader(text)))
		got, err := values(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.Join(got, " ,\n") != strings.Join(elements, " ,\n") {
			t.Errorf("%s: %.200q", name, got)
		}
		if _, err := r.Peek(); err != io.EOF { //nolint:errorlint // the bare one is promised
			t.Errorf("%s: error %v at the end", name, err)
		}
		if len(r.buf) > keepBuffer {
			t.Errorf("%s: the buffer has %d bytes after a large value", name, len(r.buf))
		}
		if r.Offset() != int64(len(text)) {
			t.Errorf("%s: offset %d of %d", name, r.Offset(), len(text))
		}
		r.Close()
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	for text, want := range map[string]error{
		``: io.EOF, `[`: io.EOF, `[1`: io.EOF, `["a`: io.EOF, `[{"a":1`: io.EOF, `[1,`: io.EOF,
	} {
		if _, err := values(NewReader(strings.NewReader(text))); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", text, err, want)
		}
		if _, err := values(NewReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))); !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want the reader's own", text, err)
		}
	}
	for text, at := range map[string]int64{`{`: 0, ` x`: 1, `[,`: 1, `[1 2]`: 3, `["a":1]`: 4, `[]`: 1, `[{}}`: 3} {
		_, err := values(NewReader(strings.NewReader(text)))
		var syntax *jsontext.SyntacticError
		if !errors.As(err, &syntax) || syntax.ByteOffset != at {
			t.Errorf("%s: error %v, want a syntactic one at %d", text, err, at)
		}
	}
	if _, err := values(NewReader(emptyReader{})); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v from a reader that returns nothing", err)
	}
}

// The Reader examines no byte of a value twice, however small the pieces are in which
// the value arrives. So twice the bytes cost twice the work.
func TestReaderExaminesEachByteOnce(t *testing.T) {
	for name, value := range map[string]func(n int) string{
		"a number":                func(n int) string { return strings.Repeat("1", n) },
		"a word":                  func(n int) string { return strings.Repeat("t", n) },
		"a string":                func(n int) string { return `"` + strings.Repeat("x", n) + `"` },
		"a string of backslashes": func(n int) string { return `"` + strings.Repeat(`\\`, n/2) + `"` },
		"an array":                func(n int) string { return "[" + strings.Repeat("1,", n/2) + "1]" },
		"brackets":                func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
		"an object with a string": func(n int) string { return `{"a":"` + strings.Repeat("x", n) + `"}` },
		"white space":             func(n int) string { return strings.Repeat(" ", n) + "1" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{2 * minBuffer, 4 * minBuffer, 8 * minBuffer} {
				text := value(size)
				r := NewReader(iotest.HalfReader(strings.NewReader(text + " ")))
				got, err := r.Value()
				if err != nil || string(got) != strings.TrimLeft(text, " ") {
					t.Fatalf("%d bytes: %.50q, %v", size, got, err)
				}
				if r.examined > int64(len(text)) {
					t.Errorf("%d bytes of %d were looked at", r.examined, len(text))
				}
				r.Close()
			}
		})
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }
