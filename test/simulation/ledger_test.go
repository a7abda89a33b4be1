package simulation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/deltafifo"
)

// item is one version of one object, as a ledger writes it down.
type item struct {
	uid     types.UID
	version uint64
}

// A ledger is the history that a consumer was told. It knows what no history may
// contain, whatever the server did.
type ledger struct {
	held   map[string]item
	newest map[types.UID]uint64
	gone   map[types.UID]bool

	deltas, inferred int
	broken           []string // what was wrong
}

func newLedger() *ledger {
	return &ledger{held: map[string]item{}, newest: map[types.UID]uint64{}, gone: map[types.UID]bool{}}
}

// write takes note of a delta.
func (l *ledger) write(typ deltafifo.Type, inferred bool, key string, obj item) {
	l.deltas++
	held, ok := l.held[key]
	wrong := func(what string) {
		l.broken = append(l.broken, fmt.Sprintf("delta %d: %v of %s, UID %s, version %d: %s", l.deltas, typ, key, obj.uid, obj.version, what))
	}
	if obj.version < l.newest[obj.uid] {
		wrong(fmt.Sprintf("version %d was told before", l.newest[obj.uid]))
	}
	if l.gone[obj.uid] && typ != deltafifo.Deleted {
		wrong("it had been deleted")
	}
	if ok && held.uid != obj.uid {
		wrong("nothing said that UID " + string(held.uid) + " was deleted")
	}
	l.newest[obj.uid] = max(l.newest[obj.uid], obj.version)
	if typ != deltafifo.Deleted {
		l.held[key] = obj
		return
	}
	if inferred {
		l.inferred++
	}
	if !ok {
		wrong("it is not there to be deleted")
	}
	l.gone[obj.uid] = true
	delete(l.held, key)
}
