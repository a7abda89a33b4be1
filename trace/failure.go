package trace

import (
	"fmt"
	"strings"
)

// compare returns a Failure if the text of a run is not that of its file.
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

// upTo returns how many lines of the file a run that ended early has been
// through: up to what should have come of the last author's line that it wrote.
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

	// Purpose is the comment that the file begins with.
	Purpose string

	// Diff has the lines of the file that the run lacks (-), and those that the
	// run has instead (+), from the enclosing comment on.
	Diff string

	// Err says why the run could not go on to the end of the file, if so.
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
