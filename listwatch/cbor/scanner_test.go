package cbor

import (
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
	s.reset()
	start := 0
	for at := 0; at < len(in); {
		n, err := s.scan(in[at:min(len(in), at+piece)])
		if err != nil {
			return items, !s.whole(), err
		}
		if at += n; s.whole() {
			items = append(items, hex.EncodeToString(in[start:at]))
			start = at
			s.reset()
		}
	}
	return items, !s.whole(), nil
}

func TestScanner(t *testing.T) {
	for name, test := range map[string]struct {
		in, want string // hexadecimal
		end      string // "", "inside", or the error
	}{
		"nothing":               {"", "", ""},
		"maps":                  {"a0 a16161a0 a2616101616202", "a0 a16161a0 a2616101616202", ""},
		"numbers":               {"a40017181819010 01a000100001b0000000100000000203818", "a400171818190100 1a000100001b0000000100000000203818", ""},
		"strings":               {"a240430102036063616263", "a240430102036063616263", ""},
		"arrays":                {"a300800183010203 02818180", "a300800183010203 02818180", ""},
		"tags":                  {"d9d9f7a0 c0a0 a100c0c100", "d9d9f7a0 c0a0 a100c0c100", ""},
		"simple values, floats": {"a400f401f502f603f820 a300f90000 01fa00000000 02fb0000000000000000", "a400f401f502f603f820 a300f9000001fa0000000002fb0000000000000000", ""},
		"indefinite":            {"bfff bf616100ff a1009fff a1009f0102ff a1005f4101ff a1007f61616162ff a1005fff", "bfff bf616100ff a1009fff a1009f0102ff a1005f4101ff a1007f61616162ff a1005fff", ""},
		"end in an argument":    {"a0 a119 01", "a0", "inside"},
		"end in a string":       {"a16461", "", "inside"},
		"end in a map":          {"a1 6161", "", "inside"},
		"end after a tag":       {"c0", "", "inside"},
		"end before a break":    {"bf", "", "inside"},
		"no map":                {"a0 00", "a0", "want a map"},
		"no map after a tag":    {"c080", "", "want a map"},
		"reserved":              {"a11c", "", "no meaning"},
		"indefinite number":     {"a11f", "", "no meaning"},
		"indefinite tag":        {"df", "", "no meaning"},
		"a break":               {"a0 ff", "a0", "a break outside"},
		"a break in an array":   {"a10081ff", "", "a break outside"},
		"a break after a tag":   {"bfc0ff", "", "a break outside"},
		"a break after a key":   {"bf00ff", "", "ends with a key"},
		"a number in a string":  {"a15f00", "", "something else"},
		"a tag in a string":     {"a15fc040", "", "something else"},
		"text among bytes":      {"a15f6161", "", "something else"},
		"nested chunks":         {"a15f5f", "", "something else"},
		"simple in two bytes":   {"a1f810", "", "simple value 16"},
		"too many pairs":        {"bbffffffffffffffff", "", "more pairs"},
		"a map for a key":       {"a1a000", "", "as a key"},
		"too deep":              {"a100" + strings.Repeat("81", maxLevels), "", "nested deeper"},
		"too deep, indefinite":  {"a100" + strings.Repeat("9f", maxLevels), "", "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := hex.DecodeString(strings.ReplaceAll(test.in, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range []int{1, 2, 3, len(in) + 1} {
				items, inside, err := scanAll(in, piece)
				if got := strings.Join(items, ""); got != strings.ReplaceAll(test.want, " ", "") {
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

// FuzzScanner compares the scanner with a decoder that checks the whole grammar, and
// with a scanner that gets the bytes in pieces.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{"d9d9f7a2", "a16161f6", "a1009f018202ff", "bf7f6161ff00ff", "a100fb3ff8000000000000", "bf0001ff", "a100f820"} {
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
		if errors.Is(err, errMap) || errors.Is(err, errKey) {
			return
		}
		if wellFormed := reference.Wellformed(in) == nil; wellFormed != one {
			t.Fatalf("%x: well-formed %v, scanned as one item %v (%v)", in, wellFormed, one, err)
		}
	})
}
