// Package drawing has what the pictures in docs/ share: a head with the colours for light and dark ground, and text. Each
// picture is written by a test, from the code or from a text beside it.
package drawing

import (
	"bytes"
	"fmt"
	"html"
)

// LineHeight is the distance from one line of text to the next.
const LineHeight = 16

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
<!-- Drawn by %s; do not edit. -->
<style>
.ground { fill: #ffffff }
.box { fill: #eef3fa; stroke: #3b5b8c; stroke-width: 1.5 }
.line { fill: none; stroke: #5a6675; stroke-width: 1.5 }
.head { fill: #5a6675 }
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; text-anchor: middle; fill: #1c2430 }
.phase { font-size: 17px; font-weight: 600 }
.stays { fill: #45525f }
@media (prefers-color-scheme: dark) {
.ground { fill: #0f141a }
.box { fill: #1b2633; stroke: #8fb1e0 }
.line { stroke: #9aa7b5 }
.head { fill: #9aa7b5 }
text { fill: #e8edf3 }
.stays { fill: #b5c0cc }
}
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L10 5L0 10z"/></marker></defs>
<rect class="ground" width="100%%" height="100%%"/>
`

// Begin writes the head of a picture. label says what it shows, and drawnBy is the command that writes it.
func Begin(w *bytes.Buffer, width, height int, label, drawnBy string) {
	fmt.Fprintf(w, head, width, height, width, height, html.EscapeString(label), drawnBy)
}

// End writes the end of a picture.
func End(w *bytes.Buffer) { w.WriteString("</svg>\n") }

// Arrow writes a line with a head. path is in the words of the SVG attribute d.
func Arrow(w *bytes.Buffer, path string) {
	fmt.Fprintf(w, "<path class=\"line\" marker-end=\"url(#head)\" d=%q/>\n", path)
}

// Label writes words in the middle of a line, one to a row, on ground of their own.
func Label(w *bytes.Buffer, x, y int, words []string) {
	longest := 0
	for _, word := range words {
		longest = max(longest, len(word))
	}
	width, height := 7*longest+8, LineHeight*len(words)+4
	top := y - height/2
	fmt.Fprintf(w, "<rect class=\"ground\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", x-width/2, top, width, height)
	for i, word := range words {
		fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, top+LineHeight*(i+1)-2, html.EscapeString(word))
	}
}

// Box writes the frame of a box. left and top are its corner.
func Box(w *bytes.Buffer, left, top, width, height int) {
	fmt.Fprintf(w, "<rect class=\"box\" rx=\"8\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", left, top, width, height)
}

// Text writes one line of text of a class: "phase" is a title, and "stays" is less important. attributes are more of SVG's, or
// none.
func Text(w *bytes.Buffer, class string, x, y int, text, attributes string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(w, "<text class=%q x=\"%d\" y=\"%d\"%s>%s</text>\n", class, x, y, attributes, html.EscapeString(text))
}

// Lines breaks words into lines of a width, which is in characters. end stands behind each word but the last.
func Lines(words []string, width int, end string) []string {
	var out []string
	for i, word := range words {
		if i+1 < len(words) {
			word += end
		}
		if last := len(out) - 1; last >= 0 && len(out[last])+1+len(word) <= width {
			out[last] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}
