package watchcache

import (
	"encoding/base64"
	"strings"
	"testing"
)

// TestTokenOfAnotherServer reads the forms that versions of kube-apiserver write: with and without
// a slash. The first one is written, because older servers read it, too.
func TestTokenOfAnotherServer(t *testing.T) {
	want := Token{Version: 7, Start: "d/a\x00"}
	for _, start := range []string{"/a", "a"} {
		text := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":7,"start":"` + start + `\u0000"}`))
		if got, err := ParseToken(text, "d/"); got != want || err != nil || (want.encode("d/") == text) != (start == "/a") {
			t.Errorf("%s: %+v, %v, want %+v", start, got, err, want)
		}
	}
}

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
