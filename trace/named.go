package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relist-go/relist/listwatch/source"
)

// mirrorName is the name of the program of traces that name none.
const mirrorName = "mirror"

// named are the programs of this module, by the names that traces have for them.
var named = map[string]Program{
	mirrorName:               Mirror,
	"retrywatcher":           retryWatcherOf(source.RetryOptions{}),
	"retrywatcher-bookmarks": retryWatcherOf(source.RetryOptions{Bookmarks: true}),
}

// ProgramNames returns the names of the programs of this module, sorted.
func ProgramNames() []string { return slices.Sorted(maps.Keys(named)) }

// ProgramNamed returns the program of this module that has a name: "mirror" is [Mirror],
// and "retrywatcher" and "retrywatcher-bookmarks" list once, and then read a
// [source.RetryWatcher] without and with its bookmarks; they take no options on the start
// line. For other names it returns an error that lists the names.
func ProgramNamed(name string) (Program, error) {
	if program, ok := named[name]; ok {
		return program, nil
	}
	return nil, fmt.Errorf("no program here is called %q: there are %s", name, strings.Join(ProgramNames(), ", "))
}

// programOr returns given, or the program that the file names if given is nil.
func (f *File) programOr(given Program) (Program, error) {
	if given != nil {
		return given, nil
	}
	program, err := ProgramNamed(f.Program())
	if err != nil {
		return nil, fmt.Errorf("%s: this trace is for another program: %w", f.Name, err)
	}
	return program, nil
}
