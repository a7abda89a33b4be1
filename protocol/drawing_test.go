package protocol

import (
	"bytes"
	"fmt"
	"image"
	"slices"
	"testing"

	"github.com/relist-go/relist/internal/chart"
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

const drawingWidth, drawingHeight = 640, 540

// boxes have the name of a phase, and what happens without leaving it.
var boxes = []struct {
	phase string
	at    image.Rectangle
}{
	{"waiting", image.Rect(14, 40, 138, 520)},
	{"streaming", image.Rect(300, 40, 480, 130)},
	{"listing", image.Rect(300, 170, 480, 260)},
	{"opening", image.Rect(300, 300, 480, 390)},
	{"watching", image.Rect(300, 430, 480, 520)},
}

// routes are how the arrows go, and where the words beside them begin.
var routes = []struct {
	arrow
	path, class string
	base        image.Point
}{
	{arrow{"waiting", "streaming"}, "M138 72H300", "middle", image.Pt(220, 64)},
	{arrow{"streaming", "waiting"}, "M300 98H138", "middle", image.Pt(220, 116)},
	{arrow{"waiting", "listing"}, "M138 205H300", "middle", image.Pt(220, 180)},
	{arrow{"listing", "waiting"}, "M300 228H138", "middle", image.Pt(220, 246)},
	{arrow{"waiting", "opening"}, "M138 332H300", "middle", image.Pt(220, 324)},
	{arrow{"opening", "waiting"}, "M300 358H138", "middle", image.Pt(220, 376)},
	{arrow{"watching", "waiting"}, "M300 444H138", "middle", image.Pt(220, 462)},
	{arrow{"streaming", "listing"}, "M376 130V170", "", image.Pt(384, 154)},
	{arrow{"streaming", "watching"}, "M480 85H626V475H480", "", image.Pt(500, 77)},
	{arrow{"listing", "opening"}, "M366 260V300", "right", image.Pt(358, 284)},
	{arrow{"opening", "listing"}, "M388 300V260", "", image.Pt(395, 284)},
	{arrow{"opening", "watching"}, "M366 390V430", "right", image.Pt(358, 414)},
	{arrow{"watching", "opening"}, "M388 430V390", "", image.Pt(395, 406)},
	{arrow{"watching", "listing"}, "M480 450H500V215H480", "", image.Pt(508, 300)},
}

// draw draws the phases. An arrow that no example takes is wrong, and so is one that has no route.
func draw(t *testing.T, taken map[arrow][]string) string {
	t.Helper()
	arrows := []chart.Arrow{{Path: "M76 6V40", Words: []string{"start"}, Base: image.Pt(86, 20)}}
	drawn := map[arrow]bool{}
	for _, r := range routes {
		if drawn[r.arrow] = true; len(taken[r.arrow]) == 0 {
			t.Errorf("no example goes from %s to %s", r.from, r.to)
		}
		arrows = append(arrows, chart.Arrow{Path: r.path, Words: taken[r.arrow], Base: r.base, Class: r.class})
	}
	var all []chart.Box
	for _, box := range boxes {
		stays := arrow{box.phase, box.phase}
		drawn[stays] = true
		all = append(all, chart.Box{Title: box.phase, Lines: breakLines(taken[stays], box.at.Dx()/8, ","), Rectangle: box.at})
	}
	for way := range taken { // the order does not matter: none is wanted
		if !drawn[way] {
			t.Errorf("examples go from %s to %s by %q; add a route", way.from, way.to, taken[way])
		}
	}
	picture, err := chart.Graph("The phases of the reflector", "go test ./protocol -run TestStates -update", drawingWidth, drawingHeight, all, arrows)
	if err != nil {
		t.Error(err)
	}
	return string(picture)
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
	fmt.Fprintf(&b, "<!-- Drawn by go test ./protocol -run TestStates -update; do not edit. -->\n<svg class=\"states\" viewBox=\"0 30 %d %d\""+
		" role=\"img\" aria-labelledby=\"states-label\">\n<title id=\"states-label\">The phases of the reflector</title>\n", drawingWidth, drawingHeight-40)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L10 5L0 10z"/></marker></defs>` + "\n")
	for _, r := range routes {
		fmt.Fprintf(&b, "<path class=\"way\" data-from=%q data-to=%q marker-end=\"url(#tip)\" d=%q/>\n", r.from, r.to, r.path)
	}
	for _, box := range boxes {
		r, middle := box.at, box.at.Min.Add(box.at.Size().Div(2))
		fmt.Fprintf(&b, "<g data-phase=%q><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"10\"/><text x=\"%d\" y=\"%d\">%s</text></g>\n",
			box.phase, r.Min.X, r.Min.Y, r.Dx(), r.Dy(), middle.X, middle.Y+8, box.phase)
	}
	return b.String() + "</svg>\n"
}
