package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/relist-go/relist/object"
)

// The machine gives up what it knows of the server if an answer is older than what came before, or
// of another history. It then lists the most recent state, reuses no object of the sink, and gives
// the sink what comes.

// errOtherHistory is reported if the server has another history. The machine cannot distinguish
// this from an event that a watch has left out, or that the sink has taken and lost.
var errOtherHistory = errors.New("the server has another history: its storage was restored from a backup, or a watch or the sink has lost a change")

// rolledBack lists the most recent state, and reuses no object of the sink. It lists immediately,
// unless the machine is waiting. The questions of many clients are spread over time, so the lists
// that follow are spread, too.
func (m *Machine) rolledBack(now time.Time, err error) {
	m.distrust(err)
	m.syncAfterWait(now)
}

// stateRolledBack drops a list or initial events, and asks for the most recent state. Either what
// came is older than the version that the machine asked for; or some of its objects were taken from
// the sink, and may be of another history. If the most recent state is older, too, then the
// server's storage rolled back, for example because it was restored from a backup. The sink then
// gets that state.
func (m *Machine) stateRolledBack(now time.Time, err error) {
	m.mostRecentNext, m.distrusted = true, true
	m.stateUnused(Failure{Reason: RolledBack, Err: err})
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(Relist{Version: m.resume, Reason: RolledBack, Err: err})
	m.sync(now)
}

// distrust gives the watch up, because the server has another history.
func (m *Machine) distrust(err error) {
	m.mostRecentNext, m.distrusted = true, true
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(Cancel{RolledBack, err})
	m.emit(Relist{Version: m.resume, Reason: RolledBack, Err: err})
}

// otherHistory acts on what the answer to a question of the history check has proved.
func (m *Machine) otherHistory(now time.Time, err error) {
	if errors.Is(err, errStorageDiffers) { // no list helps; the history check asks again
		m.emit(Problem{Class: VersionProblem, Err: err})
		return
	}
	m.rolledBack(now, err)
}

// notRepeated lists, because a watch has not repeated the last events. The watches of many clients
// show that at the same time, so the lists are spread.
func (m *Machine) notRepeated(now time.Time, err error) {
	m.distrust(err)
	m.waitUntil(now.Add(m.rules.jitter(checkSpread)), toList)
}

// sameVersion reports whether the sink may hold the same state of this object. If a transform has
// cleared the UID or the version, sameVersion does not compare that part.
func sameVersion(item Item) bool {
	return !object.DifferentUID(item.Held.UID, item.Meta.UID) &&
		(item.Held.ResourceVersion == "" || item.Held.ResourceVersion == item.Meta.ResourceVersion)
}

// otherThan is the error of an object that is not what was known under its key. If it is another
// object, its version may be the same.
func otherThan(was, meta object.Meta) error {
	if object.DifferentUID(was.UID, meta.UID) {
		return fmt.Errorf("%w: %s is another object at %s (UID %s) than at %s (UID %s)", errOtherHistory, meta.Key, meta.ResourceVersion, meta.UID, was.ResourceVersion, was.UID)
	}
	return fmt.Errorf("%w: %s is at %s, and was at %s", errOtherHistory, meta.Key, meta.ResourceVersion, was.ResourceVersion)
}
