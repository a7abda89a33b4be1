package trace

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// contextLines is how many equal lines are printed around a change.
const contextLines = 3

// diff returns the hunks of a unified diff, or "" if the texts are equal. Each hunk begins at the
// comment above its first change, because the comment says what the conversation is about.
func diff(want, got []string) string {
	edits := compareLines(want, got)
	var b strings.Builder
	for at := 0; at < len(edits); {
		first := at
		for first < len(edits) && edits[first].op == ' ' {
			first++
		}
		if first == len(edits) {
			break
		}
		begin := max(enclosing(edits, first), at)
		end := hunkEnd(edits, first)
		writeHunk(&b, edits, begin, end)
		at = end
	}
	return b.String()
}

// enclosing returns the index of the first line of the comment above a change,
// or of the context if there is none.
func enclosing(edits []edit, change int) int {
	at := change
	for at > 0 && !strings.HasPrefix(edits[at].text, "#") {
		at--
	}
	for at > 0 && strings.HasPrefix(edits[at-1].text, "#") {
		at--
	}
	if !strings.HasPrefix(edits[at].text, "#") {
		return max(change-contextLines, 0)
	}
	return at
}

// hunkEnd returns the end of the hunk that begins with a change. The hunk includes the changes that
// follow closely, and some context.
func hunkEnd(edits []edit, change int) int {
	last := change
	for i := change; i < len(edits) && i-last <= 2*contextLines; i++ {
		if edits[i].op != ' ' {
			last = i
		}
	}
	return min(last+1+contextLines, len(edits))
}

func writeHunk(b *strings.Builder, edits []edit, begin, end int) {
	wantLine, gotLine := 1, 1
	for _, e := range edits[:begin] {
		wantLine += e.inWant()
		gotLine += e.inGot()
	}
	wantLen, gotLen := 0, 0
	for _, e := range edits[begin:end] {
		wantLen += e.inWant()
		gotLen += e.inGot()
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", wantLine, wantLen, gotLine, gotLen)
	for _, e := range edits[begin:end] {
		if e.op == ' ' && e.text == "" {
			b.WriteByte('\n') // no space at the end of a line, as diff --suppress-blank-empty
			continue
		}
		fmt.Fprintf(b, "%c%s\n", e.op, e.text)
	}
}

// compareLines returns edits that turn want into got. They are few, but not always the fewest. The
// hunks are made here, because no library lets a hunk begin at a comment.
func compareLines(want, got []string) []edit {
	var edits []edit
	at := 0
	for _, d := range lcs.DiffLines(want, got) {
		edits = appendEdits(edits, ' ', want[at:d.Start])
		edits = appendEdits(edits, '-', want[d.Start:d.End])
		edits = appendEdits(edits, '+', got[d.ReplStart:d.ReplEnd])
		at = d.End
	}
	return appendEdits(edits, ' ', want[at:])
}

func appendEdits(edits []edit, op byte, lines []string) []edit {
	for _, text := range lines {
		edits = append(edits, edit{op, text})
	}
	return edits
}

// edit is one line of a diff. The line is in both texts (' '), only in want ('-'), or only in got
// ('+').
type edit struct {
	op   byte
	text string
}

func (e edit) inWant() int { return ifTrue(e.op != '+') }
func (e edit) inGot() int  { return ifTrue(e.op != '-') }

func ifTrue(b bool) int {
	if b {
		return 1
	}
	return 0
}
