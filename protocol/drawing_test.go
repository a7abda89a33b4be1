package protocol

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"testing"
)

// arrow is a way from one phase to another, or back to itself.
type arrow struct{ from, to string }

// transitions are the arrows that the examples take, with the words for what leads there, in the
// order of the tables.
func transitions() map[arrow][]string {
	taken := map[arrow][]string{}
	for _, sec := range slices.Concat(phaseSections, besideSections) {
		for _, e := range sec.examples {
			before, after, _ := sec.play(e)
			way := arrow{before.m.phaseName(), after.m.phaseName()}
			if e.group != "" && !slices.Contains(taken[way], e.group) {
				taken[way] = append(taken[way], e.group)
			}
		}
	}
	return taken
}

// point is a place in the drawing.
type point struct{ x, y int }

// The drawing is 900 units wide. A box has the name of its phase, and what happens without leaving
// it.
const (
	drawingWidth, drawingHeight = 900, 650
	boxWidth, boxHeight         = 190, 96
)

var boxes = []struct {
	phase  string
	middle point
}{
	{"listing", point{130, 150}},
	{"opening", point{450, 150}},
	{"watching", point{770, 150}},
	{"waiting", point{450, 490}},
	{"streaming", point{770, 490}},
}

// routes are how the arrows go, and the middle of the words on them.
var routes = []struct {
	arrow
	path  string
	words point
}{
	{arrow{"listing", "opening"}, "M225 136H355", point{290, 120}},
	{arrow{"opening", "listing"}, "M355 172H225", point{290, 188}},
	{arrow{"opening", "watching"}, "M545 136H675", point{610, 120}},
	{arrow{"watching", "opening"}, "M675 172H545", point{610, 200}},
	{arrow{"watching", "listing"}, "M770 102C770 20 130 20 130 102", point{450, 40}},
	{arrow{"waiting", "listing"}, "M390 442C370 330 270 270 190 198", point{310, 316}},
	{arrow{"listing", "waiting"}, "M110 198C110 400 200 490 355 490", point{177, 420}},
	{arrow{"opening", "waiting"}, "M420 198V442", point{420, 262}},
	{arrow{"waiting", "opening"}, "M490 442V198", point{490, 352}},
	{arrow{"watching", "waiting"}, "M710 198C690 330 600 420 545 452", point{646, 350}},
	{arrow{"waiting", "streaming"}, "M545 476H675", point{610, 460}},
	{arrow{"streaming", "waiting"}, "M675 506H545", point{610, 530}},
	{arrow{"streaming", "watching"}, "M800 442V198", point{800, 320}},
	{arrow{"streaming", "listing"}, "M770 538C770 640 560 620 400 620C120 620 20 460 60 198", point{400, 620}},
}

// draw draws the phases. An arrow that no example takes is wrong, and so is one that has no route.
func draw(t *testing.T, taken map[arrow][]string) string {
	t.Helper()
	var b bytes.Buffer
	beginDrawing(&b, drawingWidth, drawingHeight, "The phases of the reflector", "go test ./protocol -run TestStates -update")
	drawn := map[arrow]bool{}
	for _, r := range routes {
		drawArrow(&b, r.path)
	}
	for _, r := range routes {
		if len(taken[r.arrow]) == 0 {
			t.Errorf("no example goes from %s to %s", r.from, r.to)
			continue
		}
		drawn[r.arrow] = true
		drawLabel(&b, r.words.x, r.words.y, taken[r.arrow])
	}
	for _, box := range boxes {
		stays := arrow{box.phase, box.phase}
		drawn[stays] = true
		drawBox(&b, box.phase, box.middle, breakLines(taken[stays], 26, ","))
	}
	drawArrow(&b, "M450 580V540")
	drawText(&b, "stays", 450, 594, "start")
	for way := range taken { // the order does not matter: none is wanted
		if !drawn[way] {
			t.Errorf("examples go from %s to %s by %q; add a route", way.from, way.to, taken[way])
		}
	}
	endDrawing(&b)
	return b.String()
}

func drawBox(b *bytes.Buffer, phase string, middle point, stays []string) {
	drawFrame(b, middle.x-boxWidth/2, middle.y-boxHeight/2, boxWidth, boxHeight)
	y := middle.y + 6 - lineHeight*len(stays)/2
	drawText(b, "phase", middle.x, y, phase)
	for i, line := range stays {
		drawText(b, "stays", middle.x, y+4+lineHeight*(i+1), line)
	}
}

// lineHeight is the distance from one line of text to the next.
const lineHeight = 16

const drawingHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
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

// beginDrawing writes the head of a picture. label says what it shows, and drawnBy is the command
// that writes it.
func beginDrawing(w *bytes.Buffer, width, height int, label, drawnBy string) {
	fmt.Fprintf(w, drawingHead, width, height, width, height, html.EscapeString(label), drawnBy)
}

// endDrawing writes the end of a picture.
func endDrawing(w *bytes.Buffer) { w.WriteString("</svg>\n") }

// drawArrow writes a line with a head. path is in the words of the SVG attribute d.
func drawArrow(w *bytes.Buffer, path string) {
	fmt.Fprintf(w, "<path class=\"line\" marker-end=\"url(#head)\" d=%q/>\n", path)
}

// drawLabel writes words in the middle of a line, one to a row, on ground of their own.
func drawLabel(w *bytes.Buffer, x, y int, words []string) {
	longest := 0
	for _, word := range words {
		longest = max(longest, len(word))
	}
	width, height := 7*longest+8, lineHeight*len(words)+4
	top := y - height/2
	fmt.Fprintf(w, "<rect class=\"ground\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", x-width/2, top, width, height)
	for i, word := range words {
		fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, top+lineHeight*(i+1)-2, html.EscapeString(word))
	}
}

// drawFrame writes the frame of a box. left and top are its corner.
func drawFrame(w *bytes.Buffer, left, top, width, height int) {
	fmt.Fprintf(w, "<rect class=\"box\" rx=\"8\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", left, top, width, height)
}

// drawText writes one line of text of a class: "phase" is a title, and "stays" is less important.
func drawText(w *bytes.Buffer, class string, x, y int, text string) {
	fmt.Fprintf(w, "<text class=%q x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(text))
}

// breakLines breaks words into lines of a width, which is in characters. end stands behind each
// word but the last.
func breakLines(words []string, width int, end string) []string {
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

// drawSmall draws the phases without words on the arrows, for the pages of traces. They light the
// phase and the arrow by its names.
func drawSmall() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!-- Drawn by go test ./protocol -run TestStates -update; do not edit. -->\n<svg class=\"states\" viewBox=\"0 10 %d %d\""+
		" role=\"img\" aria-labelledby=\"states-label\">\n<title id=\"states-label\">The phases of the reflector</title>\n", drawingWidth, drawingHeight-20)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L10 5L0 10z"/></marker></defs>` + "\n")
	for _, r := range routes {
		fmt.Fprintf(&b, "<path class=\"way\" data-from=%q data-to=%q marker-end=\"url(#tip)\" d=%q/>\n", r.from, r.to, r.path)
	}
	for _, box := range boxes {
		fmt.Fprintf(&b, "<g data-phase=%q><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"14\"/><text x=\"%d\" y=\"%d\">%s</text></g>\n",
			box.phase, box.middle.x-boxWidth/2, box.middle.y-boxHeight/2, boxWidth, boxHeight, box.middle.x, box.middle.y+12, box.phase)
	}
	return b.String() + "</svg>\n"
}
