// Package visible makes text of a server safe to show on a terminal, or in a log that is shown on
// one: names and messages could move the cursor, change what was printed before, or look like lines
// of this program. https://github.com/kubernetes/kubernetes/issues/101695
package visible

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns a message on one line: what breaks lines is a space, and what cannot be seen is
// written as Go writes it in a string.
func OneLine(s string) string {
	return visible(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s), "")
}

// Lines returns a text of several lines in which nothing but line breaks and tabs is invisible.
func Lines(s string) string { return visible(s, "\n\t") }

// visible writes what cannot be seen as Go writes it in a string.
func visible(s, allowed string) string {
	hidden := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && !strings.ContainsRune(allowed, r)
	}
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if hidden(r) {
			quoted := strconv.QuoteToASCII(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}
