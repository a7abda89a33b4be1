package protocol

import (
	"bytes"
	"slices"
	"testing"

	"github.com/relist-go/relist/internal/drawing"
)

// arrow is a way from one phase to another, or back to itself.
type arrow struct{ from, to string }

// transitions are the arrows that the examples take, with the words for what leads there, in the order of the tables.
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

// The drawing is 900 units wide. A box has the name of its phase, and what happens without leaving it.
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
	{arrow{"watching", "opening"}, "M675 172H545", point{610, 188}},
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
	drawing.Begin(&b, drawingWidth, drawingHeight, "The phases of the reflector", "go test ./protocol -run TestStates -update")
	drawn := map[arrow]bool{}
	for _, r := range routes {
		drawing.Arrow(&b, r.path)
	}
	for _, r := range routes {
		if len(taken[r.arrow]) == 0 {
			t.Errorf("no example goes from %s to %s", r.from, r.to)
			continue
		}
		drawn[r.arrow] = true
		drawing.Label(&b, r.words.x, r.words.y, taken[r.arrow])
	}
	for _, box := range boxes {
		stays := arrow{box.phase, box.phase}
		drawn[stays] = true
		drawBox(&b, box.phase, box.middle, drawing.Lines(taken[stays], 26, ","))
	}
	for way := range taken { // the order does not matter: none is wanted
		if !drawn[way] {
			t.Errorf("examples go from %s to %s by %q; add a route", way.from, way.to, taken[way])
		}
	}
	drawing.End(&b)
	return b.String()
}

func drawBox(b *bytes.Buffer, phase string, middle point, stays []string) {
	drawing.Box(b, middle.x-boxWidth/2, middle.y-boxHeight/2, boxWidth, boxHeight)
	y := middle.y + 6 - drawing.LineHeight*len(stays)/2
	drawing.Text(b, "phase", middle.x, y, phase, "")
	for i, line := range stays {
		drawing.Text(b, "stays", middle.x, y+4+drawing.LineHeight*(i+1), line, "")
	}
}
