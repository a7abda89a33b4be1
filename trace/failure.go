package trace

import (
	"fmt"
	"strings"
)

// compare returns a Failure if the text of a run differs from its file.
func compare(f *File, lines []string, err error) error {
	want := f.texts()
	if err != nil && len(lines) > 0 {
		want = want[:f.upTo(lines)]
	}
	d := diff(want, lines)
	if d == "" && err == nil {
		return nil
	}
	return &Failure{Name: f.Name, Purpose: strings.Join(f.purpose(), "\n"), Diff: d, Err: err}
}

// upTo returns how many lines of the file a run has compared that ended early.
// The last of them is the last expected line below the last stimulus that the
// run wrote.
func (f *File) upTo(lines []string) int {
	left := 0
	for _, text := range lines {
		if text == "" || !isObserved(text) {
			left++
		}
	}
	for i, l := range f.lines {
		if l.kind == observed {
			continue
		}
		if left == 0 {
			return i
		}
		left--
	}
	return len(f.lines)
}

// Failure says how a run differed from its file.
type Failure struct {
	Name string // of the file

	// Purpose is the comment at the beginning of the file.
	Purpose string

	// Diff has the lines that are only in the file (-) and those that are only in
	// the run (+). It begins at the comment above them.
	Diff string

	// Err says why the run could not reach the end of the file, or is nil.
	Err error
}

func (f *Failure) Error() string {
	var b strings.Builder
	if f.Purpose != "" {
		b.WriteString(f.Purpose + "\n\n")
	}
	if f.Diff != "" {
		fmt.Fprintf(&b, "--- %s\n+++ run\n%s", f.Name, f.Diff)
	}
	if f.Err != nil {
		b.WriteString(f.Err.Error() + "\n")
	}
	return b.String()
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }
