package mutants

import "slices"

// mutation is one way to break the library.
type mutation struct {
	// what it does, as it stands in README.md.
	what string

	// dir is that of the package, relative to the root of the module.
	dir string

	// edits are in one file, whichever it is.
	edits []edit

	// trace is the one that is about this. Others may fail as well.
	trace string
}

// player is the package whose test plays the traces: trace, or server for those of the server's
// half.
func (m mutation) player() string {
	if m.dir == watchcache {
		return "server"
	}
	return "trace"
}

type edit = Edit

func one(old, by string) []edit { return []edit{{old, by}} }

// broken is a mutation that has one edit.
func broken(what, dir, trace, old, by string) mutation {
	return mutation{what, dir, one(old, by), trace}
}

// protocol is the package that holds the rules of a reflector.
const protocol = "protocol"

// mutations are all of them, as README.md lists them.
var mutations = slices.Concat(ofConversations, ofObjects, ofQueues, ofServers)
