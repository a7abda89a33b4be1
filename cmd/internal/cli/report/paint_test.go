package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/must"
)

func TestChangesStandBelowTheirObject(t *testing.T) {
	delta := Delta{Type: "Updated", Key: "a/b", ResourceVersion: "3", Changes: []Change{
		{Path: ".spec.replicas", Old: json.RawMessage("2"), New: json.RawMessage("3")},
		{Path: ".data.k", New: json.RawMessage(`"v\u202e"`)},
		{Path: ".data[\"\u202e\"]", Old: json.RawMessage(`"` + strings.Repeat("x", 300) + `"`)},
	}}
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{}, `    0.000s  delta      Updated  a/b  at 3
                       ~ .spec.replicas: 2 → 3
                       + .data.k: "v\u202e"
                       - .data["\u202e"]: "` + strings.Repeat("x", 59) + "…" + strings.Repeat("x", 29) + `" (302 characters)
`},
		{Options{Color: true}, "    0.000s  \x1b[1mdelta\x1b[0m      Updated  a/b  at 3\n" +
			"                       \x1b[1m~\x1b[0m .spec.replicas: 2 → 3\n" +
			"                       \x1b[32m+\x1b[0m .data.k: \"v\\u202e\"\n" +
			"                       \x1b[31m-\x1b[0m .data[\"\\u202e\"]: \"" + strings.Repeat("x", 59) + "…" + strings.Repeat("x", 29) + "\" (302 characters)\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := NewPrinter(&out, tt.opts)
			p.Print(delta)
			must.OK(t, p.Close())
			if out.String() != tt.want {
				t.Errorf("got:\n%q\nwant:\n%q", out.String(), tt.want)
			}
		})
	}
}

// Colours are readable on light and dark: the eight basic ones without white, black, and those that
// are pale on one of them.
func TestColoursAreReadableOnLightAndDark(t *testing.T) {
	got := printAll(t, Options{Color: true})
	for _, part := range strings.Split(got, "\x1b[")[1:] {
		code, _, _ := strings.Cut(part, "m")
		if !slices.Contains([]string{"0", "1", "2", "31", "32", "35"}, code) {
			t.Errorf("the sequence %q is used", code)
		}
	}
}

// A line names its resource where there are several.
func TestLinesNameTheirResource(t *testing.T) {
	for format, want := range map[Format]string{
		Text: "    0.000s  bookmark   pods      at 9\nsummary of pods\n",
		JSON: `{"time":"2000-01-01T00:00:00.000000000Z","kind":"bookmark","resource":"pods","resourceVersion":"9"}` + "\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := NewPrinter(&out, Options{Format: format})
			p.PrintOf("pods    ", Bookmark{ResourceVersion: "9"})
			p.PrintOf("pods    ", Summary{})
			must.OK(t, p.Close())
			if !strings.HasPrefix(out.String(), want) {
				t.Errorf("got %s want %s", out.String(), want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		line    string
		columns int
		want    string
	}{
		{"one two", 7, "one two"},
		{"one two", 6, "one…"},
		{"one two", 4, "one…"},
		{"one two", 3, "on…"},
		{"onetwothree", 5, "onet…"},
		{"größer als", 8, "größer…"},
		{"one", 0, ""},
		{"one", -1, ""},
		{"", 0, ""},
	} {
		if got := Cut(tt.line, tt.columns); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.line, tt.columns, got, tt.want)
		}
	}
}
