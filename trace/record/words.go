package record

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	plain  = regexp.MustCompile(`^[A-Za-z0-9@/._:%+*~!-]+$`)
	plainV = regexp.MustCompile(`^[A-Za-z0-9@/._:%+*~!=,-]*$`)
)

// word is text as a word of a line, quoted if it could be taken for something else.
func word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// value is text as the value of an option.
func value(text string) string {
	if plainV.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// quoteBytes prefers backquotes, between which JSON stays readable.
func quoteBytes(data []byte) string {
	text := string(data)
	if strings.Contains(text, `"`) && utf8.ValidString(text) && strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}
