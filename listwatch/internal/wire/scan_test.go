package wire

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestScannerFindsTheEnd(t *testing.T) {
	for _, value := range []string{
		`{}`, `[]`, `{"a":[1,{"b":"}]"}],"c":"\"}"}`, `["\\","\\\"",[[]]]`, `{"a long name that takes more than eight bytes":"and a long value {[\"\\"}`,
	} {
		// It ends at the same place wherever it is split.
		for split := range len(value) + 1 {
			var s Scanner
			n, done := s.Scan([]byte(value[:split]))
			if split < len(value) {
				if n != split || done {
					t.Fatalf("%s: %d bytes of %d, done %v", value, n, split, done)
				}
				s.Scan(nil) // changes nothing
				n, done = s.Scan([]byte(value[split:] + `,"x"`))
				n += split
			}
			if n != len(value) || !done {
				t.Fatalf("%s, split at %d: ends at %d, done %v", value, split, n, done)
			}
		}
	}
}

// The scanner finds the same end of a value as package json does.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"a":["b\"",{"c":null}]} `), 3)
	f.Add([]byte(`["\\"]x`), 1)
	f.Fuzz(func(t *testing.T, data []byte, split int) {
		dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		value, err := dec.ReadValue()
		if err != nil || value.Kind() != '{' && value.Kind() != '[' {
			return
		}
		start := bytes.IndexAny(data, "{[")
		rest := data[start:]
		split = min(max(split, 0), len(value)-1)
		var s Scanner
		n, done := s.Scan(rest[:split])
		if n != split || done {
			t.Fatalf("%q ends at %d", rest[:split], n)
		}
		if n, done = s.Scan(rest[split:]); !done || split+n != len(value) {
			t.Fatalf("%q ends at %d, done %v; want %d", rest, split+n, done, len(value))
		}
	})
}
