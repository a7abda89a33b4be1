package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/relist-go/relist/object"
)

// verification is a comparison of the sink with the server, once every [Rules.Verify].
//
// Why: if a server loses an event in its cache, no watch brings the change, and a client may keep a
// deleted object forever (https://github.com/kubernetes/kubernetes/issues/123072). When it starts:
// the period is over, and a watch is open. What is checked: the server's list of metadata, key by
// key, once the watch has reached the version of that list. When it ends: the keys that differ are
// in quarantine, or a list follows because too many differ; or a list or another server makes the
// comparison useless.
type verification struct {
	next time.Time // when to begin; zero for never. It stays the same if a watch or a Run ends

	asked   bool // the list of metadata was asked for
	arrived bool // it has come, and is compared once the resume version has reached its version
	heard   time.Time

	version        string
	keysWithEvents map[string]bool // the keys of events since the list was asked for: they are not compared
}

// ErrVerification is in the error of a ListProblem if the list of a verification failed. The watch
// still keeps the copy up to date.
var ErrVerification = errors.New("verify")

// maxDifferences is the number of keys that are asked for one by one. If more differ, the machine
// lists.
const maxDifferences = 100

// Differences is what a verification has found.
type Differences struct {
	Objects int    // the number of objects that the server has
	Count   int    // the number of keys that differ
	Keys    []Item // of those, up to 100: the object as the server has it, and how it differs; if the server lacks it, only the key
}

func (v *verification) running() bool { return v.asked || v.arrived }

func (v *verification) cancel() { *v = verification{next: v.next} }

// postpone sets the time of the next verification.
func (v *verification) postpone(r *Rules, now time.Time) {
	v.cancel()
	if r.Verify > 0 && r.SinkTells {
		v.next = now.Add(r.Verify + r.jitter(r.Verify/10))
	}
}

// beginVerification asks for the metadata exactly at the resume version, where the sink and the
// server should agree.
func (m *Machine) beginVerification(now time.Time) {
	switch {
	case m.verify.running(), !due(now, m.verificationAt()):
		return
	case object.IsAnyVersion(m.resume), // there is no version to compare at
		m.quarantine.beyondLimit > 0: // a list is due; before it, each object that the quarantine has no room for would count as a difference
		m.verify.postpone(m.rules, now)
		return
	}
	m.verify.asked, m.verify.heard, m.verify.keysWithEvents = true, now, map[string]bool{}
	for range verificationTokens {
		m.backoff.take(m.rules, toList, now)
	}
	m.emit(ListMetadata{m.resume})
}

// verificationTokens is how many lists a verification may be: if the server no longer has the
// version, the driver sends a second one, for any version that is not older.
const verificationTokens = 2

// verificationAt returns when the next verification may begin; zero for never. It waits for its
// tokens.
func (m *Machine) verificationAt() time.Time {
	if m.verify.next.IsZero() {
		return m.verify.next
	}
	return latest(m.verify.next, m.backoff.nextToken(m.rules, toList).Add((verificationTokens-1)*m.rules.scaled(refill)))
}

// verifyTimers gives up a list of metadata that has been idle for too long.
func (m *Machine) verifyTimers(now time.Time) {
	if m.verify.asked && due(now, m.idleSince(m.verify.heard)) {
		m.emit(CancelVerification{})
		m.metadataListed(now, MetadataListed{Failure: Failure{Reason: IdleTimeout, Err: errIdle}})
	}
}

// metadataListed takes the list of a verification, or its failure.
func (m *Machine) metadataListed(now time.Time, in MetadataListed) {
	switch {
	case !m.verify.asked:
	case in.Failure.Reason != 0:
		m.emit(Problem{Class: ListProblem, Err: fmt.Errorf("%w: %w", ErrVerification, in.Failure.Err)})
		m.verify.postpone(m.rules, now)
	default:
		m.verify.asked, m.verify.arrived, m.verify.version = false, true, in.Version
	}
}

// compared puts the keys that differ into quarantine, so that the server is asked for them. If
// there are too many, it lists.
func (m *Machine) compared(now time.Time, in Compared) {
	if !m.verify.arrived {
		return
	}
	found := in.Differences
	m.verify.postpone(m.rules, now)
	for _, d := range found.Keys {
		m.emit(Problem{Class: DriftProblem, Key: d.Meta.Key, Err: d.Err})
	}
	m.emit(Verified{Objects: found.Objects, Differences: found.Count, Duration: in.Duration})
	if found.Count == 0 {
		return
	}
	if found.Count > maxDifferences {
		m.distrusted = true // the server may have another history, in which the same version is another state
		m.repairByList(now)
		return
	}
	for _, d := range found.Keys {
		m.quarantine.put(now, m.resume, Item{Meta: d.Meta}, d.Err, differs)
	}
}

// Comparison compares a list of metadata with the sink, key by key.
type Comparison struct {
	m        *Machine
	found    Differences
	nameless bool // the server has an object without a readable name
}

// Comparison begins to compare the list of the verification that is under way.
func (m *Machine) Comparison() *Comparison { return &Comparison{m: m} }

// Item takes an object that the server has.
func (c *Comparison) Item(item Item) {
	c.found.Objects++
	switch {
	case !item.IsHeld:
		c.differs(item.Meta, "it is there at %s, and is not held", item.Meta.ResourceVersion)
	case object.DifferentUID(item.Held.UID, item.Meta.UID):
		c.differs(item.Meta, "its UID is %s, and %s is held", item.Meta.UID, item.Held.UID)
	case !sameVersion(item):
		// A newer version in the sink is a difference, too: it may be of a history that a backup
		// has undone.
		c.differs(item.Meta, "it is at %s, and is held at %s", item.Meta.ResourceVersion, item.Held.ResourceVersion)
	}
}

// Bad takes the key of an object whose metadata cannot be read. The key is empty if the name cannot
// be read.
func (c *Comparison) Bad(key string) {
	c.found.Objects++
	c.nameless = c.nameless || key == ""
}

// Missing takes a key that the sink holds and the list lacks. The driver calls it after Item and
// Bad. If the list has an object without a readable name, that object may have this key, so Missing
// reports nothing.
func (c *Comparison) Missing(key string) {
	if c.nameless {
		return
	}
	c.differs(object.Meta{Key: key}, "it is not there, and is held")
}

// Differences returns what was found.
func (c *Comparison) Differences() Differences { return c.found }

// errDiffers is in the problem of an object that differs from the server's.
var errDiffers = errors.New("differs from the server")

func (c *Comparison) differs(meta object.Meta, format string, args ...any) {
	if c.m.verify.keysWithEvents[meta.Key] || c.m.quarantine.unsettled(meta.Key) {
		return
	}
	if c.found.Count++; c.found.Count > maxDifferences {
		return // a list follows
	}
	err := fmt.Errorf("%w: "+format, append([]any{errDiffers}, args...)...)
	c.found.Keys = append(c.found.Keys, Item{Meta: meta, Err: err})
}
