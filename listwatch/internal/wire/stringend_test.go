package wire

import (
	"strings"
	"testing"
)

// naive is StringEnd, a byte at a time.
func naive(b []byte, i int) (end int, escaped, ok bool) {
	for ; i < len(b); i++ {
		switch {
		case escaped:
			escaped = false
		case b[i] == '"':
			return i + 1, false, true
		case b[i] == '\\':
			escaped = true
		}
	}
	return len(b), escaped, false
}

func check(t *testing.T, b []byte, i int) {
	t.Helper()
	end, escaped, ok := StringEnd(b, i)
	if wantEnd, wantEscaped, wantOK := naive(b, i); end != wantEnd || escaped != wantEscaped || ok != wantOK {
		t.Errorf("StringEnd(%q, %d) = %d, %t, %t; want %d, %t, %t", b, i, end, escaped, ok, wantEnd, wantEscaped, wantOK)
	}
}

// Quotes and backslashes at every place of a word, and beside bytes that differ from
// them in one bit.
func TestStringEnd(t *testing.T) {
	for n := range 20 {
		for _, tail := range []string{``, `"`, `\`, `\"`, `\\`, `\"x`, `\\"`, "#\"", "!\"", "]\\\"\"", "\xa2\xdc\"", "\x00\"", `""`} {
			for begin := range n + 1 {
				check(t, []byte(strings.Repeat("x", n)+tail), begin)
				check(t, []byte(strings.Repeat("x", n)+tail+strings.Repeat("y", 9)), begin)
			}
		}
	}
}

func FuzzStringEnd(f *testing.F) {
	f.Add([]byte(`some text\" and then the end", and more`), 3)
	f.Fuzz(func(t *testing.T, b []byte, i int) {
		if i >= 0 && i <= len(b) {
			check(t, b, i)
		}
	})
}
