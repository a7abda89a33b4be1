package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/relist-go/relist/object"
)

// verification is the comparison of the sink with the server, now and then. A server that loses an event in its cache never
// says so; clients keep a deleted object for ever (https://github.com/kubernetes/kubernetes/issues/123072).
type verification struct {
	next time.Time // when to begin; zero for never. It outlives the end of a watch and of a Run

	asked bool // the list of metadata was asked for
	came  bool // it is here, and is compared once the resume point has come to its version
	heard time.Time

	version string
	touched map[string]bool // the keys that events have come for since the list was asked for: the list says nothing of them
}

// maxDifferences keys are asked for one by one; if more differ, everything is listed.
const maxDifferences = 100

// Differences is what a verification has found.
type Differences struct {
	Objects int // that the server has
	Count   int // of keys that differ
	Keys    []Difference
}

// Difference is one key that differs.
type Difference struct {
	Meta object.Meta // as the server has it; of what the server lacks, a key alone
	Err  error       // how it differs
}

func (v *verification) running() bool { return v.asked || v.came }

func (v *verification) cancel() { *v = verification{next: v.next} }

// postpone sets the time of the next verification.
func (v *verification) postpone(r *Rules, now time.Time) {
	v.cancel()
	if r.Verify > 0 && r.SinkTells && r.SinkCounts {
		v.next = now.Add(r.Verify + r.jitter(r.Verify/10))
	}
}

// beginVerification asks for the metadata at the resume point exactly, which no change can blur.
func (m *Machine) beginVerification(now time.Time) {
	if m.verify.running() || !due(now, m.verify.next) {
		return
	}
	if object.Any(m.resume) {
		m.verify.postpone(&m.rules, now) // there is no version to compare at
		return
	}
	if m.quarantine.uncounted > 0 {
		m.verify.postpone(&m.rules, now) // a list is due, and without their keys it would report them all
		return
	}
	m.verify.asked, m.verify.heard, m.verify.touched = true, now, map[string]bool{}
	m.emit(ListMetadata{m.resume})
}

// verifyTimers gives up a list of metadata that has been silent for too long.
func (m *Machine) verifyTimers(now time.Time) {
	if m.verify.asked && due(now, m.impatient(m.verify.heard)) {
		m.emit(CancelVerification{})
		m.metadataListed(now, MetadataListed{Failure: Failure{Reason: Silent, Err: errSilent}})
	}
}

// metadataListed takes the list of a verification, or its failure.
func (m *Machine) metadataListed(now time.Time, in MetadataListed) {
	switch {
	case !m.verify.asked:
	case in.Failure.Reason != 0:
		m.emit(Problem{Class: ListProblem, Err: fmt.Errorf("verify: %w", in.Failure.Err)})
		m.verify.postpone(&m.rules, now)
	default:
		m.verify.asked, m.verify.came, m.verify.version = false, true, in.Version
	}
}

// compareWhenReached has the sink compared once the resume point has come to the version of the list of metadata.
func (m *Machine) compareWhenReached() {
	if m.verify.came && !object.Older(m.resume, m.verify.version) {
		m.emit(Compare{})
	}
}

// compared puts what differs into quarantine, so that it is asked for, or lists if it is too much.
func (m *Machine) compared(now time.Time, in Compared) {
	if !m.verify.came {
		return
	}
	found := in.Differences
	m.verify.postpone(&m.rules, now)
	for _, d := range found.Keys {
		m.emit(Problem{Class: DriftProblem, Key: d.Meta.Key, Err: d.Err})
	}
	m.emit(Verified{Objects: found.Objects, Differences: found.Count, Duration: in.Duration})
	if found.Count == 0 {
		return
	}
	m.safe = "" // nobody knows since when they have differed
	if found.Count > maxDifferences {
		m.distrusted = true // the server may have another history, where a version says nothing
		m.repairByList(now)
		return
	}
	for _, d := range found.Keys {
		m.setAside(now, Item{Meta: d.Meta}, d.Err, differs)
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
	case object.Another(item.Held.UID, item.Meta.UID):
		c.differs(item.Meta, "its UID is %s, and %s is held", item.Meta.UID, item.Held.UID)
	case !sameVersion(item):
		// Also if it is held at a newer one: that may be of a history which a backup has undone.
		c.differs(item.Meta, "it is at %s, and is held at %s", item.Meta.ResourceVersion, item.Held.ResourceVersion)
	}
}

// Bad takes the key of an object that the server has, and whose metadata cannot be read. It is empty if the name cannot.
func (c *Comparison) Bad(key string) {
	c.found.Objects++
	c.nameless = c.nameless || key == ""
}

// Missing takes a key that the sink holds and the list lacks. It comes after all that the server has. If an object there has no
// readable name, it may be this one.
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
	if c.m.verify.touched[meta.Key] || c.m.unsettled(meta.Key) {
		return
	}
	if c.found.Count++; c.found.Count > maxDifferences {
		return // the list that follows says the rest
	}
	err := fmt.Errorf("%w: "+format, append([]any{errDiffers}, args...)...)
	c.found.Keys = append(c.found.Keys, Difference{meta, err})
}
