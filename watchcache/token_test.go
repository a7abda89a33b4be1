package watchcache

import (
	"strings"
	"testing"
)

func FuzzParseToken(f *testing.F) {
	f.Add(Token{Version: 7, Start: "d/a\x00"}.encode("d/"), "d/")
	f.Add(Token{Start: "d/a\x00"}.encode("d/"), "d/")
	f.Add("garbage", "")
	f.Fuzz(func(t *testing.T, text, prefix string) {
		token, err := ParseToken(text, prefix)
		if err == nil && !strings.HasPrefix(token.Start, prefix) {
			t.Errorf("%q below %q leads to %q", text, prefix, token.Start)
		}
	})
}
