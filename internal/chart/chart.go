// Package chart draws the figures of pages as SVG: boxes with arrows between them, bars that
// compare two programs, and a heat map of a table. [Begin] starts every picture of the project, so
// that all have one style. The pictures follow the reader's choice of light or dark, and no color
// says anything that the text beside it does not.
//
// A page may show a picture at the width of a telephone: 600 units are wide enough to fill it.
package chart

import (
	"bytes"
	_ "embed" // the style
	"fmt"
	"html"
	"strings"
)

//go:embed style.css
var style string

const marker = `<marker id="%s" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="11" markerHeight="11" orient="auto">` +
	`<path class="%s" d="M0 0L10 5L0 10z"/></marker>`

// Begin starts a picture. label is read aloud in place of it, and drawnBy is the command that
// writes it.
func Begin(b *bytes.Buffer, width, height int, label, drawnBy string) {
	label = html.EscapeString(label)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
<!-- Drawn by %s; do not edit. -->
<title>%s</title>
<style>
%s</style>
<defs>`+marker+marker+`</defs>
<rect class="ground" width="100%%" height="100%%"/>
`, width, height, width, height, label, drawnBy, label, style, "head", "head", "faultHead", "faultHead")
}

func text(b *bytes.Buffer, class string, x, y int, s string) {
	fmt.Fprintf(b, "<text class=%q x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(s))
}

func rect(b *bytes.Buffer, class string, x, y, width, height int) {
	fmt.Fprintf(b, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", class, x, y, width, height)
}

// Pair compares one figure of two programs.
type Pair struct {
	Label string
	Value [2]float64
	Text  [2]string // how the values are written
}

const (
	barsWidth, barsLeft, barsValue = 600, 16, 70
	barHeight, pairHeight          = 12, 58
)

// Bars draws a pair of bars below the name of each figure. The longer of the two is as long as that
// of every other pair, because the figures have different units.
func Bars(label, drawnBy string, programs [2]string, pairs []Pair) []byte {
	var b bytes.Buffer
	Begin(&b, barsWidth, 44+pairHeight*len(pairs), label, drawnBy)
	x := barsLeft
	for i, class := range []string{"first", "second"} {
		rect(&b, class, x, 11, 12, 12)
		text(&b, "", x+18, 22, programs[i])
		x += 110
	}
	for i, p := range pairs {
		y := 58 + pairHeight*i
		text(&b, "label", barsLeft, y-6, p.Label)
		longest := max(p.Value[0], p.Value[1])
		for j, class := range []string{"first", "second"} {
			top := y + j*(barHeight+2)
			length := max(2, int(p.Value[j]/longest*(barsWidth-barsLeft-barsValue)))
			rect(&b, class, barsLeft, top, length, barHeight)
			text(&b, "", barsLeft+length+6, top+11, p.Text[j])
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// Cell is one field of a heat map. Heat is 0 to 4, or Never.
type Cell struct {
	Text string
	Heat int
}

// Never is the heat of what is worse than every number.
const Never = -1

// Row is one line of a heat map.
type Row struct {
	Label string
	Cells []Cell
}

const rowHeight, cellWidth, heatLabel = 22, 74, 132

// HeatMap draws a table. A column's title has a line for each word.
func HeatMap(label, drawnBy string, columns, legend []string, rows []Row) []byte {
	var b bytes.Buffer
	top := 58
	bottom := top + rowHeight*len(rows)
	Begin(&b, heatLabel+cellWidth*len(columns)+16, bottom+42, label, drawnBy)
	for i, column := range columns {
		for j, line := range strings.Fields(strings.ReplaceAll(column, ",", "")) {
			text(&b, "middle small", heatLabel+cellWidth*i+cellWidth/2, 18+15*j, line)
		}
	}
	for i, row := range rows {
		y := top + rowHeight*i
		text(&b, "small", 12, y+15, row.Label)
		for j, c := range row.Cells {
			field(&b, heatLabel+cellWidth*j, y, cellWidth, c)
		}
	}
	for i, words := range legend {
		heat := i
		if i == len(legend)-1 {
			heat = Never
		}
		field(&b, heatLabel+(cellWidth+30)*i, bottom+12, cellWidth+30, Cell{words, heat})
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func field(b *bytes.Buffer, x, y, width int, c Cell) {
	class, onIt := fmt.Sprintf("heat%d", c.Heat), "middle small"
	if c.Heat == Never {
		class, onIt = "never", "middle small onNever"
	}
	rect(b, class, x+1, y+1, width-2, rowHeight-2)
	text(b, onIt, x+width/2, y+15, c.Text)
}
