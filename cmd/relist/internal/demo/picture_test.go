package demo

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/internal/must"
)

var update = flag.Bool("update", false, "record the pictures of the demonstration in docs again")

// pictures are files by the columns of the terminal that they show.
var pictures = map[string]int{"../../../../docs/demo.svg": 76, "../../../../docs/demo-narrow.svg": 52}

// The pictures are recordings of what the demonstration prints today. Their texts can be read in
// light and dark, and on the band that goes from line to line as they were printed.
func TestPictures(t *testing.T) {
	for file, columns := range pictures {
		t.Run(file, func(t *testing.T) {
			if *update {
				record(t, file, columns)
			}
			data, err := os.ReadFile(file)
			must.OK(t, err)
			picture := string(data)
			text := html.UnescapeString(strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(picture, " ")), " "))
			for i, s := range scenes {
				if want := fmt.Sprintf("%d The server %s. ", i+1, s.server); !strings.Contains(text, want) || !strings.Contains(text, s.client) {
					t.Errorf("%q is not in it: run go test ./cmd/relist/internal/demo -run TestPictures -update", want+s.client)
				}
			}
			if !strings.Contains(text, "relist's copy matches the server") || strings.Contains(picture, "opacity") {
				t.Error("it shows no verdict, or is not lit all the time")
			}
			light, dark, _ := strings.Cut(picture, "prefers-color-scheme")
			for scheme, style := range map[string]string{"light": light, "dark": dark} {
				fills := map[string]string{}
				for _, m := range regexp.MustCompile(`(?m)^([.a-z]+) \{ .*fill: #(\w{6})`).FindAllStringSubmatch(style, -1) {
					fills[m[1]] = m[2]
				}
				for _, ground := range []string{".ground", ".band"} {
					for _, text := range []string{"text", ".good", ".bad"} {
						if c := contrast(t, fills[ground], fills[text]); c < 4.5 {
							t.Errorf("%s: %s on %s has contrast %.1f", scheme, text, ground, c)
						}
					}
				}
			}
		})
	}
}

// contrast is that of WCAG 2.2.
func contrast(t *testing.T, a, b string) float64 {
	luminance := func(color string) (l float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(color[2*i:2*i+2], 16, 8)
			must.OK(t, err)
			c := float64(n) / 255
			if c <= 0.04045 {
				l += weight * c / 12.92
			} else {
				l += weight * math.Pow((c+0.055)/1.055, 2.4)
			}
		}
		return l
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// tape notes when each line is written.
type tape struct {
	start time.Time
	lines []string
	times []time.Duration
}

func (r *tape) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		r.lines = append(r.lines, strings.TrimSuffix(line, "\n"))
		r.times = append(r.times, time.Since(r.start))
	}
	return len(b), nil
}

const (
	character, lineHeight, margin = 9, 22, 14
	rest                          = 5 * time.Second // after the last line

	style = `<style>
text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1c2430 }
.strong { font-weight: 700 }
.good { fill: #17602f }
.bad { fill: #8f1f7a }
.ground { fill: #ffffff; stroke: #c9d1d9 }
.band { visibility: hidden; fill: #e6edf5 }
@media (prefers-color-scheme: dark) {
text { fill: #e8edf3 }
.good { fill: #7ee787 }
.bad { fill: #f0a3e0 }
.ground { fill: #0f141a; stroke: #3a444f }
.band { fill: #24303d }
}
`
)

// record runs the demonstration on a terminal of so many columns, and draws what it prints.
func record(t *testing.T, file string, columns int) {
	r := &tape{start: time.Now()}
	_, _ = r.Write([]byte("\x1b[1m$ make demo\x1b[0m\n\n"))
	p := report.NewPrinter(r, report.Options{Color: true})
	must.OK(t, Run(t.Context(), Options{Duration: 15 * time.Second, Columns: columns}, p))
	must.OK(t, p.Close())
	var b bytes.Buffer
	width, height := 2*margin+character*columns, 2*margin+lineHeight*len(r.lines)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="What make demo printed">`+"\n", width, height, width, height)
	b.WriteString("<!-- Recorded by go test ./cmd/relist/internal/demo -run TestPictures -update; do not edit. -->\n" + style)
	length := r.times[len(r.times)-1] + rest
	b.WriteString("@keyframes now {\n")
	for i, at := range r.times {
		if r.lines[i] == "" {
			continue
		}
		fmt.Fprintf(&b, "%.2f%% { transform: translateY(%dpx) }\n", 100*at.Seconds()/length.Seconds(), lineHeight*i)
	}
	fmt.Fprintf(&b, "}\n@media (prefers-reduced-motion: no-preference) { .band { visibility: visible; animation: now %.2fs step-end infinite } }\n</style>\n", length.Seconds())
	fmt.Fprintf(&b, `<rect class="ground" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	fmt.Fprintf(&b, `<rect class="band" x="4" y="%d" width="%d" height="%d" rx="3"/>`+"\n", margin, width-8, lineHeight)
	classes := map[string]string{"\x1b[1m": "strong", "\x1b[32m": "good", "\x1b[35m": "bad", "\x1b[0m": ""}
	parts := regexp.MustCompile(`\x1b\[\d+m| {2,}|(?: ?[^\x1b ])+`)
	for i, line := range r.lines {
		class, column := "", 0
		for _, part := range parts.FindAllString(line, -1) {
			if c, is := classes[part]; is {
				class = c
				continue
			}
			if strings.TrimSpace(part) != "" {
				indent := len(part) - len(strings.TrimLeft(part, " "))
				text := strings.TrimSpace(part)
				fmt.Fprintf(&b, `<text class=%q x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
					class, margin+character*(column+indent), margin+lineHeight*i+16, character*len(text), html.EscapeString(text))
			}
			column += len(part)
		}
	}
	b.WriteString("</svg>\n")
	must.OK(t, os.WriteFile(file, b.Bytes(), 0o644))
}
