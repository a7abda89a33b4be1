package servertrace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Diff compares a run at another server than the first one with the file, and returns what differs,
// or "". Two things may: the order of the answers to several requests, and times, because no two
// servers are equally fast. What comes sooner or later is a difference, but for a quarter, which is
// jitter, and slack, by which this line or those before may be late.
func (f *File) Diff(got []string, slack time.Duration) string {
	want := make([]string, len(f.lines))
	for i, l := range f.lines {
		want[i] = l.text
	}
	var b strings.Builder
	came := blocks(got)
	alike := func(want, got part) bool {
		return want.text == got.text && got.at >= want.at*3/4-slack && got.at <= want.at*5/4+slack
	}
	for i, block := range blocks(want) { // there are as many: each begins with a line of the author
		if slices.EqualFunc(block, came[i], alike) {
			continue
		}
		for _, p := range block {
			fmt.Fprintf(&b, "-%-8v %s\n", p.at, p.text)
		}
		for _, p := range came[i] {
			fmt.Fprintf(&b, "+%-8v %s\n", p.at, p.text)
		}
	}
	return b.String()
}

// part is a line, with the items of a list.
type part struct {
	at   time.Duration // since the line of the author
	text string
}

// blocks divides lines into one of the author and those of the run below it, by request: "< a".
func blocks(lines []string) (all [][]part) {
	var at time.Duration
	for _, text := range lines {
		last := len(all) - 1
		switch passed, isTime := strings.CutPrefix(text, "~ "); {
		case isTime:
			d, _ := time.ParseDuration(passed) // a run wrote it
			at += d
		case strings.HasPrefix(text, "<"), strings.HasPrefix(text, "="):
			all[last] = append(all[last], part{at, text})
		case strings.HasPrefix(text, "\t"):
			all[last][len(all[last])-1].text += "\n" + text
		default:
			all, at = append(all, []part{{text: text}}), 0
		}
	}
	for _, block := range all {
		slices.SortStableFunc(block[1:], func(p, q part) int { return strings.Compare(p.text[:3], q.text[:3]) })
	}
	return all
}
