package chart

import (
	"bytes"
	"fmt"
	"image"
	"regexp"
	"slices"
	"strconv"
)

// Box is a box of a graph, with its title and the lines of text below that in its middle.
type Box struct {
	Title string
	Lines []string
	image.Rectangle
}

// Arrow is a line of horizontal and vertical parts, in the words of the SVG attribute d, with words
// beside it, a line each. Base is where the first line is written. It ends there if Class is
// "right", and has its middle there if it is "middle".
type Arrow struct {
	Path, Class string
	Words       []string
	Base        image.Point
}

const lineHeight = 17

// Graph draws boxes and arrows. It is an error if words beside an arrow lie over something or
// outside of the picture, or if a line is wider than its box.
func Graph(label, drawnBy string, width, height int, boxes []Box, arrows []Arrow) ([]byte, error) {
	var b bytes.Buffer
	Begin(&b, width, height, label, drawnBy)
	var taken []image.Rectangle
	for _, box := range boxes {
		taken = append(taken, box.Rectangle)
		fmt.Fprintf(&b, "<rect class=\"box\" rx=\"8\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", box.Min.X, box.Min.Y, box.Dx(), box.Dy())
		middle := box.Min.Add(box.Size().Div(2))
		y := middle.Y + 6 - lineHeight*len(box.Lines)/2
		text(&b, "middle name", middle.X, y, box.Title)
		for i, line := range box.Lines {
			if 8*len(line) > box.Dx() {
				return nil, fmt.Errorf("the line %q is wider than its box", line)
			}
			text(&b, "middle muted", middle.X, y+2+lineHeight*(i+1), line)
		}
	}
	for _, a := range arrows {
		taken = append(taken, parts(a.Path)...)
		fmt.Fprintf(&b, "<path class=\"line arrow\" d=%q/>\n", a.Path)
	}
	for _, a := range arrows {
		for i, line := range a.Words {
			at := a.Base.Add(image.Pt(0, lineHeight*i))
			text(&b, a.Class, at.X, at.Y, line)
			wide := 8 * len(line)
			left := at.X - map[string]int{"right": wide, "middle": wide / 2}[a.Class]
			area := image.Rect(left, at.Y-11, left+wide, at.Y+4)
			if !area.In(image.Rect(0, 0, width, height)) || slices.ContainsFunc(taken, area.Overlaps) {
				return nil, fmt.Errorf("the words %q at %v, of the arrow %s, lie over something or outside", line, at, a.Path)
			}
			taken = append(taken, area)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

var part = regexp.MustCompile(`([MHV])(\d+)(?: (\d+))?`)

// parts returns where the parts of a path are, three units wide.
func parts(path string) []image.Rectangle {
	var all []image.Rectangle
	var at image.Point
	for _, p := range part.FindAllStringSubmatch(path, -1) {
		from := at
		to, _ := strconv.Atoi(p[2]) // digits
		switch p[1] {
		case "M":
			y, _ := strconv.Atoi(p[3])
			at, from = image.Pt(to, y), image.Pt(to, y)
		case "H":
			at.X = to
		case "V":
			at.Y = to
		}
		all = append(all, image.Rectangle{from, at}.Canon().Inset(-1))
	}
	return all
}
