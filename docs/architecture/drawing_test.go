// Package architecture draws the pictures of docs/architecture.md and docs/durable.md, and tests what the pages say.
package architecture

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/drawing"
)

var update = flag.Bool("update", false, "rewrite the pictures, and their lists in docs/architecture.md")

const (
	root = "../../"
	page = "../architecture.md"
)

// otherPages are the pages of the pictures that are not in docs/architecture.md.
var otherPages = map[string]string{"durable": "../durable.md"}

// road is the way of something through the files of this module, as a text beside this file tells it:
//
//	the title
//
//	[a box]
//	a file | what it does
//
//	[+ a box that stands beside the one before]
//	a file | what it does
//
//	-> what leads to the boxes below
//
//	~> what leads back to the first box
type road struct {
	name, title string
	rows        []row
	back        string // empty if nothing leads back
}

// row is one or two boxes side by side.
type row struct {
	after string // what leads here
	boxes []box
}

type box struct {
	title string
	steps []step
}

type step struct{ file, does string }

// readRoad reads NAME.txt.
func readRoad(t *testing.T, name string) road {
	t.Helper()
	text := readFile(t, name+".txt")
	title, rest, _ := strings.Cut(text, "\n")
	r := road{name: name, title: title}
	after := ""
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		file, does, isStep := strings.Cut(line, " | ")
		switch {
		case line == "":
		case strings.HasPrefix(line, "-> "):
			after = line[3:]
		case strings.HasPrefix(line, "~> "):
			r.back = line[3:]
		case strings.HasPrefix(line, "[+ ") && len(r.rows) > 0:
			last := &r.rows[len(r.rows)-1]
			last.boxes = append(last.boxes, box{title: strings.Trim(line[3:], "]")})
		case strings.HasPrefix(line, "["):
			r.rows = append(r.rows, row{after, []box{{title: strings.Trim(line, "[]")}}})
		case isStep && len(r.rows) > 0:
			boxes := r.rows[len(r.rows)-1].boxes
			last := &boxes[len(boxes)-1]
			last.steps = append(last.steps, step{file, does})
		default:
			t.Fatalf("%s.txt: this is no part of a road: %s", name, line)
		}
	}
	return r
}

// files returns the files that a road names, in its order.
func (r road) files() []string {
	var files []string
	for _, row := range r.rows {
		for _, b := range row.boxes {
			for _, s := range b.steps {
				files = append(files, s.file)
			}
		}
	}
	return files
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// roads are all of them.
func roads(t *testing.T) []road {
	t.Helper()
	var all []road
	for _, name := range []string{"event", "resourceversion", "error", "durable"} {
		all = append(all, readRoad(t, name))
	}
	return all
}

// A drawing and a page name only files that are there, and say what each does.
func TestRoadsNameFiles(t *testing.T) {
	for _, r := range roads(t) {
		for _, row := range r.rows {
			for _, b := range row.boxes {
				for _, s := range b.steps {
					if _, err := os.Stat(filepath.Join(root, s.file)); err != nil || s.does == "" {
						t.Errorf("%s.txt: %q | %q: %v", r.name, s.file, s.does, err)
					}
				}
			}
		}
	}
}

// The pictures are those of the texts. Update them with -update.
func TestPictures(t *testing.T) {
	for _, r := range roads(t) {
		check(t, r.name+".svg", r.draw())
	}
}

// The pages list the files of each picture below it.
func TestPagesListTheFiles(t *testing.T) {
	for _, r := range roads(t) {
		page := cmp.Or(otherPages[r.name], page)
		text := readFile(t, page)
		begin, end := "<!-- drawn: "+r.name+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no part between %q and %q", page, begin, end)
		}
		check(t, page, before+begin+r.list()+end+after)
	}
}

// check compares a file with what it should hold, or writes it.
func check(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { // everybody may read a page
			t.Fatal(err)
		}
		return
	}
	if got := readFile(t, file); got != want {
		t.Errorf("%s is out of date: go test ./docs/architecture -update", file)
	}
}

// list is a road as a part of the page.
func (r road) list() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n![%s](architecture/%s.svg)\n\n", r.title, r.name)
	for i, row := range r.rows {
		if i > 0 {
			fmt.Fprintf(&b, "↓ %s\n\n", row.after)
		}
		for _, box := range row.boxes {
			fmt.Fprintf(&b, "**%s**\n\n", box.title)
			for n, s := range box.steps {
				fmt.Fprintf(&b, "%d. [%s](../%s): %s\n", n+1, s.file, s.file, s.does)
			}
			b.WriteString("\n")
		}
	}
	if r.back != "" {
		fmt.Fprintf(&b, "↑ %s\n\n", r.back)
	}
	return b.String()
}

// The drawing is 960 units wide.
const (
	width      = 960
	margin     = 24
	gap        = 24 // between two boxes that stand side by side
	arrowSpace = 56 // between two rows
	titleSpace = 44 // in a box, above its first step
	loopSpace  = 64 // on the right, for what leads back
	fileColumn = 330
)

const (
	fileStyle = `style="text-anchor:start;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px"`
	doesStyle = `style="text-anchor:start"`
)

// draw is a road as a picture.
func (r road) draw() string {
	right := width - margin
	if r.back != "" {
		right -= loopSpace
	}
	var body bytes.Buffer
	y := margin
	var above []int // the middles of the boxes above
	firstMiddle, lastMiddle := 0, 0
	for i, row := range r.rows {
		n := len(row.boxes)
		each := (right - margin - gap*(n-1)) / n
		height := 0
		for _, b := range row.boxes {
			height = max(height, b.height(each))
		}
		var middles []int
		for k := range row.boxes {
			middles = append(middles, margin+k*(each+gap)+each/2)
		}
		if i > 0 {
			arrows(&body, above, middles, y, row.after)
			y += arrowSpace
		}
		for k, b := range row.boxes {
			b.draw(&body, margin+k*(each+gap), y, each, height)
		}
		lastMiddle = y + height/2
		if i == 0 {
			firstMiddle = lastMiddle
		}
		y += height
		above = middles
	}
	if r.back != "" {
		x := width - margin - 12
		drawing.Arrow(&body, fmt.Sprintf("M%d %dC%d %d %d %d %d %d", right, lastMiddle, x+24, lastMiddle-60, x+24, firstMiddle+60, right, firstMiddle))

		drawing.Text(&body, "stays", x-16, (firstMiddle+lastMiddle)/2, r.back, fmt.Sprintf(`transform="rotate(-90 %d %d)"`, x-16, (firstMiddle+lastMiddle)/2))
	}
	var out bytes.Buffer
	drawing.Begin(&out, width, y+margin, r.title, "go test ./docs/architecture -update")
	out.Write(body.Bytes())
	drawing.End(&out)
	return out.String()
}

// arrows lead from the boxes of a row to those of the next: each to the one below, or all to one, or one to all.
func arrows(b *bytes.Buffer, from, to []int, y int, words string) {
	for k := range max(len(from), len(to)) {
		drawing.Arrow(b, fmt.Sprintf("M%d %dL%d %d", from[min(k, len(from)-1)], y+1, to[min(k, len(to)-1)], y+arrowSpace-2))
	}
	middle := 0
	for _, x := range slices.Concat(from, to) {
		middle += x
	}
	drawing.Label(b, middle/(len(from)+len(to)), y+arrowSpace/2-2, []string{words})
}

// narrow reports whether a box has no room for a file and what it does side by side.
func narrow(width int) bool { return width < 2*fileColumn }

// textWidth is how many characters of what a file does fit into a line of a box.
func textWidth(width int) int {
	if narrow(width) {
		return (width - 2*margin) * 10 / 66
	}
	return (width - fileColumn - 2*margin) * 10 / 66
}

func (s step) lines(width int) []string {
	return drawing.Lines(strings.Fields(s.does), textWidth(width), "")
}

// height is what a box needs.
func (b box) height(width int) int {
	height := titleSpace
	for _, s := range b.steps {
		height += s.height(width)
	}
	return height + 6
}

func (s step) height(width int) int {
	n := len(s.lines(width))
	if narrow(width) {
		n++
	}
	return n*drawing.LineHeight + 6
}

func (b box) draw(out *bytes.Buffer, left, top, width, height int) {
	drawing.Box(out, left, top, width, height)
	drawing.Text(out, "phase", left+width/2, top+26, b.title, "")
	y := top + titleSpace + 10
	for _, s := range b.steps {
		drawing.Text(out, "file", left+margin, y, s.file, fileStyle)
		x, first := left+fileColumn, y
		if narrow(width) {
			x, first = left+margin+14, y+drawing.LineHeight
		}
		for i, line := range s.lines(width) {
			drawing.Text(out, "stays", x, first+i*drawing.LineHeight, line, doesStyle)
		}
		y += s.height(width)
	}
}
