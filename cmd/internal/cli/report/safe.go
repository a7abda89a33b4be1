package report

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// What a server says reaches a terminal, or a log that is shown on one: names and messages
// could move the cursor, change what was printed before, or look like lines of this
// program. https://github.com/kubernetes/kubernetes/issues/101695

// Word returns a name or a version as it is, or in quotes if it holds anything but
// letters, digits and marks that can be seen.
func Word(s string) string {
	for _, r := range s {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' || r == utf8.RuneError {
			return strconv.Quote(s)
		}
	}
	return s
}

// SafeJSON escapes what JSON may hold as it is and nobody can see: DEL and the control characters
// from U+0080 to U+009F, which a terminal obeys; marks that change the direction of a text, so that
// it reads as another; and characters without a width. https://trojansource.codes
func SafeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, isHidden) {
		return text
	}
	var b []byte
	for _, r := range string(text) { // it is UTF-8: encoding/json has made it
		switch {
		case !isHidden(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// isHidden reports whether a character cannot be seen. encoding/json escapes those of ASCII.
func isHidden(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
