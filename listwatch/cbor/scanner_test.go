package cbor

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// scanAll splits a sequence into items. The scanner gets the sequence in pieces of the
// given size.
func scanAll(in []byte, piece int) (items []string, inside bool, err error) {
	var s scanner
	start := 0
	for at := 0; at < len(in); {
		n, done, err := s.Scan(in[at:min(len(in), at+piece)])
		if err != nil {
			return items, s.inside(), err
		}
		at += n
		if done {
			items = append(items, hex.EncodeToString(in[start:at]))
			start = at
		}
	}
	return items, s.inside(), nil
}

func TestScanner(t *testing.T) {
	for name, test := range map[string]struct {
		in, want string // hexadecimal
		end      string // "", "inside", or the error
	}{
		"nothing":               {"", "", ""},
		"numbers":               {"00 17 1818 190100 1a00010000 1b0000000100000000 20 3818", "00 17 1818 190100 1a00010000 1b0000000100000000 20 3818", ""},
		"strings":               {"40 43010203 60 63616263", "40 43010203 60 63616263", ""},
		"arrays":                {"80 83010203 818180", "80 83010203 818180", ""},
		"maps":                  {"a0 a16161a0 a2616101616202", "a0 a16161a0 a2616101616202", ""},
		"tags":                  {"d9d9f7a0 c000", "d9d9f7a0 c000", ""},
		"simple values, floats": {"f4 f5 f6 f820 f90000 fa00000000 fb0000000000000000", "f4 f5 f6 f820 f90000 fa00000000 fb0000000000000000", ""},
		"indefinite":            {"9fff 9f0102ff bfff bf616100ff 5f4101ff 7f61616162ff 5fff", "9fff 9f0102ff bfff bf616100ff 5f4101ff 7f61616162ff 5fff", ""},
		"end in an argument":    {"00 19 01", "00", "inside"},
		"end in a string":       {"6461", "", "inside"},
		"end in a map":          {"a1 6161", "", "inside"},
		"end after a tag":       {"c0", "", "inside"},
		"end before a break":    {"9f", "", "inside"},
		"reserved":              {"1c", "", "no meaning"},
		"indefinite number":     {"1f", "", "no meaning"},
		"indefinite tag":        {"df", "", "no meaning"},
		"a break":               {"00 ff", "00", "a break outside"},
		"a break in an array":   {"81ff", "", "a break outside"},
		"a break after a key":   {"bf00ff", "", "ends with a key"},
		"a number in a string":  {"5f00", "", "something else"},
		"text among bytes":      {"5f6161", "", "something else"},
		"nested chunks":         {"5f5f", "", "something else"},
		"simple in two bytes":   {"f810", "", "simple value 16"},
		"too many pairs":        {"bbffffffffffffffff", "", "more pairs"},
		"too deep":              {strings.Repeat("81", maxDepth+1), "", "nested deeper"},
		"too deep, indefinite":  {strings.Repeat("9f", maxDepth+1), "", "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := hex.DecodeString(strings.ReplaceAll(test.in, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range []int{1, 2, 3, len(in) + 1} {
				items, inside, err := scanAll(in, piece)
				if got := strings.Join(items, " "); got != test.want {
					t.Errorf("in pieces of %d: got %s, want %s", piece, got, test.want)
				}
				switch {
				case test.end == "" && (err != nil || inside), test.end == "inside" && (err != nil || !inside),
					test.end != "" && test.end != "inside" && (err == nil || !strings.Contains(err.Error(), test.end)):
					t.Errorf("in pieces of %d: inside %v, error %v, want %q", piece, inside, err, test.end)
				}
			}
		})
	}
}

func TestPairs(t *testing.T) {
	for in, want := range map[string]string{
		"a0":                     "",
		"d9d9f7a2616101426262f6": "a=01 bb=f6",
		"bf6161a0ff":             "a=a0",
		"a26161016162":           "a=01 (cbor: the item ends too early)",
		"a2616101616243aabb":     "a=01 b=43aabb (cbor: the item ends too early)",
		"a10001":                 "=01",
		"a17f6161ff01":           "=01",
		"a1611c1c":               "(initial byte 0x1c has no meaning)",
		"01":                     "no map", "f6": "no map", "": "no map", "d9": "no map", "c0": "no map", "dfa0": "no map",
	} {
		data, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		pairs, ok := openPairs(data)
		if !ok {
			got = append(got, "no map")
		}
		for ok {
			var key []byte
			var value []byte
			key, value, ok, err = pairs.next()
			if ok || len(value) > 0 {
				got = append(got, string(key)+"="+hex.EncodeToString(value))
			}
			if err != nil {
				got = append(got, "("+err.Error()+")")
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: got %s, want %s", in, g, want)
		}
	}
}

func TestReadHead(t *testing.T) {
	for in, want := range map[string]itemHead{
		"00":                 {Argument: 0},
		"1903e8":             {Argument: 1000},
		"9b0000000100000000": {Major: majorArray, Argument: 1 << 32},
		"9f":                 {Major: majorArray, Indefinite: true},
		"f6":                 {Major: majorSimple, Argument: 22, Null: true},
	} {
		data, _ := hex.DecodeString(in)
		head, rest, err := readHead(append(data, 0xaa))
		if head != want || err != nil || !bytes.Equal(rest, []byte{0xaa}) {
			t.Errorf("%s: got %+v, %x, %v", in, head, rest, err)
		}
		if _, _, err := readHead(data[:len(data)-1]); !errors.Is(err, errTruncated) {
			t.Errorf("%s without its end: %v", in, err)
		}
	}
}

// FuzzScanner compares the scanner with a decoder that checks the whole grammar, and
// with a scanner that gets the bytes in pieces.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{"d9d9f7a2", "a16161f6", "9f018202ff", "7f6161ff00", "fb3ff8000000000000", "bf0001ff", "f820"} {
		data, _ := hex.DecodeString(seed)
		f.Add(data, uint8(1))
	}
	reference, err := cbor.DecOptions{MaxNestedLevels: 65535, MaxArrayElements: 1<<31 - 1, MaxMapPairs: 1<<31 - 1}.DecMode()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte, piece uint8) {
		items, inside, err := scanAll(in, len(in)+1)
		again, againInside, againErr := scanAll(in, int(piece)+1)
		if strings.Join(items, " ") != strings.Join(again, " ") || inside != againInside || (err == nil) != (againErr == nil) {
			t.Fatalf("%x: %v %v %v whole, %v %v %v in pieces", in, items, inside, err, again, againInside, againErr)
		}
		one := err == nil && !inside && len(items) == 1
		if wellFormed := reference.Wellformed(in) == nil; wellFormed != one {
			t.Fatalf("%x: well-formed %v, scanned as one item %v (%v)", in, wellFormed, one, err)
		}
	})
}
