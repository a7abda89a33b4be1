package report

import (
	"bytes"
	"strconv"
	"unicode"
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

// SafeJSON escapes what JSON may hold as it is and a terminal obeys: DEL, and the control
// characters from U+0080 to U+009F.
func SafeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, isControl) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) { // it is UTF-8: encoding/json has made it
		if isControl(r) {
			b.WriteString(`\u00` + strconv.FormatInt(int64(r), 16))
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

func isControl(r rune) bool { return r >= 0x7f && r < 0xa0 }
