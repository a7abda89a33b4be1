// Package chart draws the figures of pages as SVG: bars that compare two programs, and a heat map
// of a table. The pictures follow the reader's choice of light or dark, and no color says anything
// that the text beside it does not.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
<!-- Drawn by %s; do not edit. -->
<style>
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1c2430 }
.ground { fill: #ffffff }
.middle { text-anchor: middle }
.small { font-size: 12px; fill: #45525f }
.first { fill: #2f6fbf }
.second { fill: #a3acb8 }
.heat0 { fill: #d5efdb }
.heat1 { fill: #eaf3c9 }
.heat2 { fill: #fdedb3 }
.heat3 { fill: #fad2a3 }
.heat4 { fill: #f2ad9b }
.never { fill: #a4262c }
.onNever { fill: #ffffff; font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #e8edf3 }
.ground { fill: #0f141a }
.small { fill: #b5c0cc }
.first { fill: #6ea8f0 }
.second { fill: #66717f }
.heat0 { fill: #1c4a2b }
.heat1 { fill: #3a4a1b }
.heat2 { fill: #574a12 }
.heat3 { fill: #663f14 }
.heat4 { fill: #6e2c20 }
.never { fill: #d9484f }
.onNever { fill: #ffffff }
}
</style>
<rect class="ground" width="100%%" height="100%%"/>
`

// begin starts a picture. label is read aloud in place of it, and drawnBy is the command that
// writes it.
func begin(b *bytes.Buffer, width, height int, label, drawnBy string) {
	fmt.Fprintf(b, head, width, height, width, height, html.EscapeString(label), drawnBy)
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
	barsWidth, barsLabel, barsValue = 860, 370, 70
	barHeight, pairHeight           = 11, 34
)

// Bars draws a pair of bars for each figure. The longer of the two is as long as that of every
// other pair, because the figures have different units.
func Bars(label, drawnBy string, programs [2]string, pairs []Pair) []byte {
	var b bytes.Buffer
	begin(&b, barsWidth, 40+pairHeight*len(pairs), label, drawnBy)
	x := barsLabel
	for i, class := range []string{"first", "second"} {
		rect(&b, class, x, 11, 12, 12)
		text(&b, "small", x+18, 21, programs[i])
		x += 110
	}
	for i, p := range pairs {
		y := 34 + pairHeight*i
		text(&b, "", 16, y+17, p.Label)
		longest := max(p.Value[0], p.Value[1])
		for j, class := range []string{"first", "second"} {
			top := y + j*(barHeight+2)
			length := max(2, int(p.Value[j]/longest*(barsWidth-barsLabel-barsValue)))
			rect(&b, class, barsLabel, top, length, barHeight)
			text(&b, "small", barsLabel+length+6, top+10, p.Text[j])
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

const rowHeight, cellWidth, heatLabel = 20, 80, 150

// HeatMap draws a table. A column's title has a line for each part between commas.
func HeatMap(label, drawnBy string, columns, legend []string, rows []Row) []byte {
	var b bytes.Buffer
	top := 46
	bottom := top + rowHeight*len(rows)
	begin(&b, heatLabel+cellWidth*len(columns)+16, bottom+40, label, drawnBy)
	for i, column := range columns {
		for j, line := range strings.Split(column, ", ") {
			text(&b, "middle small", heatLabel+cellWidth*i+cellWidth/2, 18+15*j, line)
		}
	}
	for i, row := range rows {
		y := top + rowHeight*i
		text(&b, "small", 12, y+14, row.Label)
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
		class, onIt = "never", "middle onNever"
	}
	rect(b, class, x+1, y+1, width-2, rowHeight-2)
	text(b, onIt, x+width/2, y+14, c.Text)
}
