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

// named are the programs of this package, by the names that traces have for them.
var named = map[string]Program{
	mirrorName:               Mirror,
	"retrywatcher":           retryWatcherOf(source.RetryOptions{}),
	"retrywatcher-bookmarks": retryWatcherOf(source.RetryOptions{Bookmarks: true}),
}

// Programs returns the programs of this package, by the names that traces have for them: "mirror"
// is [Mirror], and "retrywatcher" and "retrywatcher-bookmarks" list once, and then read a
// [source.RetryWatcher] without and with its bookmarks; they take no options on the start line.
func Programs() map[string]Program { return maps.Clone(named) }

// programOr returns given, or the program that the file names if given is nil.
func (f *File) programOr(given Program) (Program, error) {
	if given != nil {
		return given, nil
	}
	if program, ok := named[f.Program()]; ok {
		return program, nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(named)), ", ")
	return nil, fmt.Errorf("%s: this trace is for another program: no program here is called %q: there are %s", f.Name, f.Program(), names)
}
