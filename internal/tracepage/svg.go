package tracepage

import (
	_ "embed" // the style
	"fmt"
	"html"
	"strings"
)

// The columns of the drawing, in its units.
const (
	width   = 940
	axis    = 66  // the right end of the times
	client  = 382 // the lifelines
	server  = 870
	margin  = 20
	rowHigh = 30 // of an arrow with its label
	lowHigh = 20 // of a line of text
)

//go:embed page/drawing.css
var style string

// drawing is a sequence diagram while it is drawn, from the top down.
type drawing struct {
	*Recording
	strings.Builder

	y      int
	tops   []int    // where each mark is
	phase  string   // of the band on the client's lifeline
	from   int      // where that band begins
	bands  []string // in front of the lifelines, and behind the arrows
	gaps   []gap    // where time passes
	arrows strings.Builder
}

type gap struct{ from, to int }

// SVG returns the sequence diagram of a run. It adapts to a light and a dark ground.
func SVG(r *Recording) []byte {
	d := &drawing{Recording: r, y: margin}
	d.head()
	top := d.y
	d.from = top
	for i, m := range r.Marks {
		d.mark(i, m)
	}
	d.band("")
	d.y += margin
	var b strings.Builder
	title := html.EscapeString("Sequence diagram of the trace " + r.Name)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, d.y, width, d.y, title)
	fmt.Fprintf(&b, "<!-- Drawn by relist replay; do not edit. -->\n<title>%s</title>\n<style>\n%s</style>\n", title, style)
	fmt.Fprintf(&b, "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", width, d.y)
	fmt.Fprintf(&b, "<path class=\"tick\" d=\"M%d %dV%d\"/>\n", axis+12, top-18, d.y-8)
	d.lifelines(&b, top)
	for i, s := range r.spans {
		if s.to > s.from {
			kind := map[bool]string{true: "watchspan", false: "listspan"}[r.spans[i].watch]
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="8" height="%d" rx="2"/>`+"\n", kind, server-4+10*s.lane, d.tops[s.from], d.tops[s.to]-d.tops[s.from])
		}
	}
	b.WriteString(strings.Join(d.bands, "") + d.String() + d.arrows.String() + "</svg>\n")
	return []byte(b.String())
}

// head writes the name of the trace, why it exists, and the names of the lanes.
func (d *drawing) head() {
	d.y += 12
	d.text("name", margin, d.y, d.Name, "")
	d.y += 22
	for _, paragraph := range d.Purpose[:min(1, len(d.Purpose))] {
		for _, line := range wrap(paragraph, 125) {
			d.text("why", margin, d.y, line, "")
			d.y += 17
		}
	}
	d.y += 12
	for _, lane := range []struct {
		x    int
		name string
	}{{client, "client"}, {server - 10, "API server"}} {
		fmt.Fprintf(&d.Builder, `<rect class="lane" x="%d" y="%d" width="%d" height="26" rx="13"/>`+"\n", lane.x-48, d.y, 96)
		d.text("lanename", lane.x, d.y+17, lane.name, "")
	}
	d.text("time", axis, d.y+17, "time", "")
	d.y += 26
}

// lifelines draws the two lifelines, dotted where time passes.
func (d *drawing) lifelines(b *strings.Builder, top int) {
	for _, x := range []int{client, server} {
		at := top
		for _, g := range d.gaps {
			fmt.Fprintf(b, `<path class="life" d="M%d %dV%d"/><path class="life gap" d="M%d %dV%d"/>`+"\n", x, at, g.from, x, g.from+4, g.to)
			at = g.to
		}
		fmt.Fprintf(b, `<path class="life" d="M%d %dV%d"/>`+"\n", x, at, d.y-8)
	}
}

// mark draws one mark, below those before it.
func (d *drawing) mark(i int, m Mark) {
	d.passTime(i, m)
	switch {
	case m.Kind == "phase":
		if i > 0 && d.Marks[i-1].To == "" { // its text is where the phase's is to be
			d.y += lowHigh - 2
		}
		d.tops = append(d.tops, d.y)
		d.band(m.Text)
		return
	case m.Kind == "request" || m.Kind == "answer" || m.Kind == "event" || m.Kind == "bookmark" || m.Kind == "ping" || m.Kind == "end":
		d.y += rowHigh
		d.tops = append(d.tops, d.y)
		d.arrow(m)
	case m.To == "server":
		d.y += lowHigh
		d.tops = append(d.tops, d.y)
		class := "fault right"
		if m.Kind == "write" {
			class = "right"
		}
		d.label(class, server-18, d.y, m, 44)
	case m.Kind == "command":
		d.y += lowHigh + 4
		d.tops = append(d.tops, d.y)
		fmt.Fprintf(&d.Builder, `<circle class="command" cx="%d" cy="%d" r="4"/>`, client, d.y-4)
		d.label("", client+14, d.y, m, 60)
	default: // what the client tells its consumer and its user
		d.y += lowHigh
		d.tops = append(d.tops, d.y)
		class := m.Kind
		if m.Fault {
			class += " fault"
		}
		if m.Kind == "pop" {
			fmt.Fprintf(&d.arrows, `<path class="pop" d="M%d %dh-10m4 -4l-4 4l4 4"/>`, client-6, d.y-4)
		}
		d.label(class+" right", client-22, d.y, m, 38)
	}
}

// passTime writes the time of a mark if it is another than that of the mark before.
func (d *drawing) passTime(i int, m Mark) {
	if i > 0 {
		passed := m.at - d.Marks[i-1].at
		if passed == 0 {
			return
		}
		g := gap{from: d.y + 6, to: d.y + 34}
		d.gaps = append(d.gaps, g)
		d.y = g.to
		d.text("passed", (client+server)/2, g.from+18, Clock(passed)+" later", "")
	}
	at := d.y + 16
	if m.To != "" {
		at = d.y + rowHigh + 4
	}
	d.text("time", axis, at, m.At, "")
	fmt.Fprintf(&d.Builder, `<path class="tick" d="M%d %dH%d"/>`+"\n", axis+6, at-4, axis+18)
}

// band ends the band of the phase that the machine was in, and begins that of another.
func (d *drawing) band(phase string) {
	if d.phase != "" {
		d.bands = append(d.bands, fmt.Sprintf(`<rect class="band %s" x="%d" y="%d" width="8" height="%d" rx="2"/>`+"\n", d.phase, client-4, d.from, d.y-d.from))
	}
	if d.phase, d.from = phase, d.y; phase != "" {
		d.text("phase right "+phase, client-12, d.y+4, phase, "")
	}
}

// arrow draws what goes from one lane to the other. A connection that breaks has a cross in the
// middle.
func (d *drawing) arrow(m Mark) {
	class := m.Kind
	if m.Fault {
		class += " fault"
	}
	from, to, head := client+5, server-6, "l-7 -4m7 4l-7 4"
	if m.To == "client" {
		from, to, head = server-6, client+6, "l7 -4m-7 4l7 4"
	}
	if m.Kind == "end" {
		middle := (client + server) / 2
		if head = "m-5 -5l10 10m0 -10l-10 10"; m.Fault {
			to = middle
		}
		if !m.Fault {
			head = "m0 -6v12"
		}
	}
	fmt.Fprintf(&d.arrows, `<path class="arrow %s" d="M%d %dH%d%s"/>`+"\n", class, from, d.y, to, head)
	if m.To == "client" {
		d.label(class+" right", server-18, d.y-6, m, 61)
		return
	}
	d.label(class, client+18, d.y-6, m, 61)
}

// label writes the text of a mark, shortened to a number of characters.
func (d *drawing) label(class string, x, y int, m Mark, most int) {
	detail := []rune(m.Detail)
	if room := most - len([]rune(m.Text)); len(detail) > room {
		detail = append(detail[:max(room-1, 0)], '…')
	}
	whole := ""
	if len(detail) < len([]rune(m.Detail)) {
		whole = m.Text + " " + m.Detail
	}
	d.text(strings.TrimSpace("label "+class), x, y, m.Text, string(detail))
	if whole != "" {
		d.titleLast(whole)
	}
}

func (d *drawing) text(class string, x, y int, text, detail string) {
	if detail != "" {
		detail = ` <tspan class="detail">` + html.EscapeString(visible(detail)) + "</tspan>"
	}
	fmt.Fprintf(&d.Builder, `<text class="%s" x="%d" y="%d">%s%s</text>`+"\n", class, x, y, html.EscapeString(visible(text)), detail)
}

// titleLast adds the whole text to a label that was shortened, for a reader with a mouse.
func (d *drawing) titleLast(whole string) {
	text := strings.TrimSuffix(d.String(), "</text>\n")
	d.Reset()
	d.WriteString(text + "<title>" + html.EscapeString(visible(whole)) + "</title></text>\n")
}

// visible replaces characters that XML does not allow.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return '·'
		}
		return r
	}, text)
}

// wrap breaks a text into lines of at most that many characters, if its words allow it.
func wrap(text string, most int) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= most {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
