package tracepage

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/relist-go/relist/internal/chart"
)

// The drawing, in its units. The phases stand left of the client, and all else between the
// lifelines.
const (
	width   = 600
	client  = 104 // the lifelines
	server  = 562
	margin  = 20
	rowHigh = 34 // of an arrow with its label
	lowHigh = 22 // of a line of text
	rest    = 18 // of a further line of a label
	gapHigh = 44 // of a time that passes
)

// drawing is a sequence diagram while it is drawn, from the top down.
type drawing struct {
	*Recording
	strings.Builder

	y      int
	tops   []int    // where each mark is
	phase  string   // of the band on the client's lifeline
	from   int      // where that band begins
	bands  []string // in front of the lifelines, and behind the arrows
	gaps   []int    // where time passes
	arrows strings.Builder
}

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
	var b bytes.Buffer
	chart.Begin(&b, width, d.y, "Sequence diagram of the trace "+r.Name, "relist replay")
	fmt.Fprintf(&b, `<path class="life" d="M%d %dV%dM%d %dV%d"/>`+"\n", client, top, d.y-8, server, top, d.y-8)
	for i, s := range r.spans {
		if s.to > s.from {
			kind := map[bool]string{true: "watchspan", false: "listspan"}[r.spans[i].watch]
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="8" height="%d" rx="2"/>`+"\n", kind, server-4+10*s.lane, d.tops[s.from], d.tops[s.to]-d.tops[s.from])
		}
	}
	b.WriteString(strings.Join(d.bands, ""))
	for _, y := range d.gaps {
		fmt.Fprintf(&b, `<rect class="ground" x="%d" y="%d" width="%d" height="%d"/>`, client-5, y, width-client, gapHigh-10)
		fmt.Fprintf(&b, `<path class="gap" d="M%d %dv%dM%d %dv%d"/>`+"\n", client, y+3, gapHigh-16, server, y+3, gapHigh-16)
	}
	b.WriteString(d.String() + d.arrows.String() + "</svg>\n")
	return b.Bytes()
}

// head writes the name of the trace, why it exists, and the names of the lanes.
func (d *drawing) head() {
	d.y += 12
	d.text("name", margin, d.y, d.Name, "")
	d.y += 24
	for _, paragraph := range d.Purpose[:min(1, len(d.Purpose))] {
		for _, line := range wrap(paragraph, 76, 76) {
			d.text("muted", margin, d.y, line, "")
			d.y += rest
		}
	}
	d.y += 10
	for _, lane := range []struct {
		x    int
		name string
	}{{client, "client"}, {server - 24, "API server"}} {
		fmt.Fprintf(&d.Builder, `<rect class="lane" x="%d" y="%d" width="%d" height="28" rx="14"/>`+"\n", lane.x-52, d.y, 104)
		d.text("label middle", lane.x, d.y+19, lane.name, "")
	}
	d.y += 28
}

// mark draws one mark, below those before it.
func (d *drawing) mark(i int, m Mark) {
	if i > 0 && m.at > d.Marks[i-1].at {
		d.gap(Clock(m.at-d.Marks[i-1].at) + " later, at " + m.At)
	}
	switch m.Kind {
	case "phase":
		if i > 0 && d.Marks[i-1].To == "" { // its text is where the phase's is to be
			d.y += lowHigh - 2
		}
		d.tops = append(d.tops, d.y)
		d.band(m.Text)
	case "request", "answer", "event", "bookmark", "ping", "end":
		d.label(m, rowHigh-7)
		d.y += 7
		d.tops = append(d.tops, d.y)
		d.arrow(m)
	default: // what the server does, and what the client does or tells its consumer and its user
		d.label(m, lowHigh)
		d.tops = append(d.tops, d.y)
		switch m.Kind {
		case "command":
			fmt.Fprintf(&d.Builder, `<circle class="command" cx="%d" cy="%d" r="4.5"/>`, client, d.y-5)
		case "pop":
			fmt.Fprintf(&d.arrows, `<path class="line arrow" d="M%d %dh-18"/>`+"\n", client-6, d.y-5)
			if i == 0 || d.Marks[i-1].Kind != "pop" {
				d.text("small muted right", client-27, d.y, "consumer", "")
			}
		}
		if m.Text == noDelay {
			d.gap("a random delay of 0 to " + Clock(spread) + ": here 0s")
		}
	}
}

// gap draws time that passes.
func (d *drawing) gap(text string) {
	d.gaps = append(d.gaps, d.y+8)
	d.text("passed middle", (client+server)/2, d.y+8+gapHigh/2, text, "")
	d.y += gapHigh
}

// band ends the band of the phase that the machine was in, and begins that of another.
func (d *drawing) band(phase string) {
	if d.phase != "" {
		d.bands = append(d.bands, fmt.Sprintf(`<rect class="band %s" x="%d" y="%d" width="8" height="%d" rx="2"/>`+"\n", d.phase, client-4, d.from, d.y-d.from))
	}
	if d.phase, d.from = phase, d.y; phase != "" {
		d.text("phase right "+phase, client-12, d.y+5, phase, "")
	}
}

// arrow draws what goes from one lane to the other. A connection that breaks has a cross in the
// middle, and one that the client closes ends at a bar.
func (d *drawing) arrow(m Mark) {
	class := m.Kind
	if m.Fault {
		class += " fault"
	}
	from, to, end := client+5, server-5, ""
	if m.To == "client" {
		from, to = to, from
	}
	switch {
	case m.Kind == "end" && m.Fault:
		to, end = (client+server)/2, "m-5 -5l10 10m0 -10l-10 10"
	case m.Kind == "end":
		end = "m0 -6v12"
	}
	fmt.Fprintf(&d.arrows, `<path class="line arrow %s" d="M%d %dH%d%s"/>`+"\n", class, from, d.y, to, end)
}

// label writes the text of a mark at the side from which it comes: the first line that far below
// what is there, and at most two more.
func (d *drawing) label(m Mark, first int) {
	side, class, x := "", m.Kind, client+14
	if m.To == "client" || m.To == "server" && (m.Kind == "note" || m.Kind == "write") {
		side, x = " right", server-14
	}
	if m.Fault {
		class += " fault"
	}
	lines := wrap(strings.ReplaceAll(m.Detail, `,"`, `, "`), 53-len([]rune(m.Text))*6/5, 54)
	if len(lines) > 3 {
		lines = append(lines[:2], lines[2]+"…")
	}
	d.y += first
	d.text("label "+class+side, x, d.y, m.Text, strings.Join(lines[:min(1, len(lines))], ""))
	for _, line := range lines[min(1, len(lines)):] {
		d.y += rest
		d.text("detail"+side, x, d.y, line, "")
	}
}

func (d *drawing) text(class string, x, y int, text, detail string) {
	if detail != "" {
		detail = ` <tspan class="detail">` + html.EscapeString(visible(detail)) + "</tspan>"
	}
	fmt.Fprintf(&d.Builder, `<text class="%s" x="%d" y="%d">%s%s</text>`+"\n", class, x, y, html.EscapeString(visible(text)), detail)
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

// wrap breaks a text into lines of at most that many characters: the first, and each after it. It
// breaks a word that is longer.
func wrap(text string, first, most int) []string {
	lines, room := []string{""}, first
	for word := range strings.FieldsSeq(text) {
		for part := range slices.Chunk([]rune(word), most) {
			last := len(lines) - 1
			if used := len([]rune(lines[last])); used > 0 && used+1+len(part) > room || used == 0 && len(part) > room && last == 0 {
				lines, room = append(lines, string(part)), most
				continue
			}
			lines[last] = strings.TrimSpace(lines[last] + " " + string(part))
		}
	}
	return lines
}
