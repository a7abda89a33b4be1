package servertrace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Diff compares a run at another server than the first one with the file, and returns the lines
// below which they differ, or "". Two things may: the order of the answers to several requests, and
// times, because two servers and their networks are not equally fast, and jitter makes periods up to a
// quarter shorter. What comes sooner than that is a difference.
func (f *File) Diff(got []string) string {
	want := make([]string, len(f.lines))
	for i, l := range f.lines {
		want[i] = l.text
	}
	var b strings.Builder
	came := blocks(got)
	for i, below := range blocks(want) {
		if i >= len(came) || !slices.EqualFunc(below.parts, came[i].parts, part.mayBe) {
			fmt.Fprintf(&b, "%s\n", below.by)
			for _, p := range below.parts {
				fmt.Fprintf(&b, "-~ %v %s\n", p.at, p.text)
			}
			for _, p := range came[min(i, len(came)-1)].parts {
				fmt.Fprintf(&b, "+~ %v %s\n", p.at, p.text)
			}
		}
	}
	return b.String()
}

// block is a line of the author and what the run wrote below it, by request.
type block struct {
	by    string
	parts []part
}

type part struct {
	at   time.Duration // since the line of the author
	text string
}

func (p part) mayBe(got part) bool { return p.text == got.text && got.at >= p.at*3/4 }

func blocks(lines []string) (all []block) {
	var at time.Duration
	for _, text := range lines {
		passed, isTime := strings.CutPrefix(text, "~ ")
		switch last := len(all) - 1; {
		case isTime:
			d, _ := time.ParseDuration(passed) // a run wrote it
			at += d
		case strings.HasPrefix(text, "<"), strings.HasPrefix(text, "="):
			all[last].parts = append(all[last].parts, part{at, text})
		case strings.HasPrefix(text, "\t"):
			parts := all[last].parts
			parts[len(parts)-1].text += "\n" + text
		default:
			all, at = append(all, block{by: text}), 0
		}
	}
	for _, b := range all {
		slices.SortStableFunc(b.parts, func(p, q part) int { return strings.Compare(name(p), name(q)) })
	}
	return all
}

// name returns what a part begins with: "< a", or "= x@3".
func name(p part) string { return strings.Join(strings.SplitN(p.text, " ", 3)[:2], " ") }
