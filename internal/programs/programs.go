// Package programs has every client of this module that can play a trace, by its name.
package programs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/examples/smallest"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/trace"
)

// named are all of them: those that package trace knows, the clients that one writes first, the
// smallest one that is right, and relist's own with nothing beside its conversation.
var named = func() map[string]trace.Program {
	all := trace.Programs()
	maps.Copy(all, naive.Programs)
	all["smallest"] = smallest.Program
	all["conversation-alone"] = Only(protocol.Guests{})
	return all
}()

// Names returns the names of all programs, sorted.
func Names() []string { return slices.Sorted(maps.Keys(named)) }

// Named returns the program that has a name. For other names it returns an error that lists them.
func Named(name string) (trace.Program, error) {
	if program, ok := named[name]; ok {
		return program, nil
	}
	return nil, fmt.Errorf("no program here is called %q: there are %s", name, strings.Join(Names(), ", "))
}
