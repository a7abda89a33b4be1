package show

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/cmd/internal/cli/report"
)

// Diff returns the fields in which two states of an object differ, in the order of the paths. It
// leaves out two fields that say nothing about the object itself: its resourceVersion, and
// managedFields, which records who wrote what.
func Diff(before, after map[string]any) []report.Change {
	d := &differ{}
	cmp.Equal(before, after, cmp.FilterPath(isBookkeeping, cmp.Ignore()), cmp.Reporter(d))
	return d.changes
}

func isBookkeeping(p cmp.Path) bool {
	path := pathOf(p)
	return path == ".metadata.managedFields" || path == ".metadata.resourceVersion"
}

// differ collects the differences that cmp reports.
type differ struct {
	path    cmp.Path
	changes []report.Change
}

// PushStep implements the interface of [cmp.Reporter].
func (d *differ) PushStep(s cmp.PathStep) { d.path = append(d.path, s) }

// PopStep implements the interface of [cmp.Reporter].
func (d *differ) PopStep() { d.path = d.path[:len(d.path)-1] }

// Report implements the interface of [cmp.Reporter].
func (d *differ) Report(r cmp.Result) {
	if r.Equal() {
		return
	}
	c := report.Change{Path: pathOf(d.path)}
	before, after := d.path.Last().Values()
	if before.IsValid() {
		c.Old = encode(before.Interface())
	}
	if after.IsValid() {
		c.New = encode(after.Interface())
	}
	d.changes = append(d.changes, c)
}

// plainName is a name that needs no quotes in a path.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// pathOf writes a path as kubectl does: .spec.containers[0].image. The index of an element is its
// place in the new state, or in the old state if the element is gone.
func pathOf(path cmp.Path) string {
	var b strings.Builder
	for _, s := range path {
		switch s := s.(type) {
		case cmp.MapIndex:
			if name := s.Key().String(); plainName.MatchString(name) {
				b.WriteString("." + name)
			} else {
				b.WriteString("[" + strconv.Quote(name) + "]")
			}
		case cmp.SliceIndex:
			before, after := s.SplitKeys()
			if after < 0 {
				after = before
			}
			fmt.Fprintf(&b, "[%d]", after)
		}
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
}
