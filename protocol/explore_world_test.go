package protocol

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// world is one state of the exploration: the machine, the server, the sink, and what is on its way
// between them.
type world struct {
	s   *search
	m   *Machine
	srv server

	shared bool // m belongs to another world, see own

	sink    [keys]cell
	main    request // the list or watch
	refetch inquiry
	check   inquiry // a verification

	listed      bool // a list has come, and no watch was opened since
	reconnected bool // and the connection of that list has broken

	left budget // the faults that may still happen
	memory

	// What the step that is being made has done.
	calls  int       // of the sink
	refuse int       // which of them is refused; 0 for none
	broken string    // what was violated; empty if nothing
	lines  *[]string // of a golden trace, if a path is being printed; nil while exploring
}

// request is the list or watch that is open.
type request struct {
	kind    requestKind
	version version // 0 for "", anyVersion for "0"
	reuse   bool

	open bool    // a watch that the server has accepted
	pos  version // the version up to which an open watch has told everything

	// Of initial events: those of upTo are sent key by key, and then their end.
	initial   bool
	upTo      version
	sent      int8
	collected arrived
}

type requestKind uint8

const (
	noRequest requestKind = iota
	listRequest
	watchRequest
)

// inquiry is a refetch, or the list of a verification. The server answers at one moment, and the
// answer arrives at another.
type inquiry struct {
	state inquiryState
	key   int8 // of a refetch; -1 for any
	exact bool // a refetch at a version, and not of the most recent state
	at    version
	found arrived
	more  bool // a server that ignores field selectors
	old   bool // the answer is from before a backup was restored
}

type inquiryState uint8

const (
	unasked inquiryState = iota
	awaited
	answered
	arrivedState // of a verification: it waits to be compared
)

// arrived is objects as they came over the wire.
type arrived struct {
	objects  [keys]cell
	bad      [keys]bool // cannot be decoded
	nameless bool       // one of those that are there cannot be named; it is not among objects
}

func (a *arrived) whole() bool { return !a.nameless && a.bad == [keys]bool{} }

// now is the time in every state: see forget in explore_time_test.go.
var now = time.Unix(1e9, 0)

// faults are what may go wrong, each as often as the budget of a search says.
type fault uint8

const (
	anyFault        fault = iota // counts all but writes
	writes                       // changes of objects
	elsewheres                   // changes of something else
	leaves                       // objects that leave the selector, and come back
	grants                       // objects that become visible late
	compactions                  // that a watch sees
	restores                     // of a backup
	lags                         // requests that are answered by a replica that is behind
	breaks                       // watches that end
	failures                     // of lists and watches
	expirations                  // 410 without need
	badObjects                   // that cannot be decoded
	unnamed                      // objects without a readable name
	refusals                     // of the sink
	refetchFailures              //
	omissions                    // events that the server never sends
	relists                      // lists that the program asks for
	stops                        // ends of a Run
	faults
)

type budget [faults]int8

// spend takes one of a kind of fault from the budget, and reports whether there was one.
func (w *world) spend(f fault) bool {
	total := f != writes && f != elsewheres
	if w.left[f] == 0 || total && w.left[anyFault] == 0 {
		return false
	}
	w.left[f]--
	if total {
		w.left[anyFault]--
	}
	return true
}

func (w *world) can(f fault) bool {
	return w.left[f] > 0 && (w.left[anyFault] > 0 || f == writes || f == elsewheres)
}

func (s *search) begin() *world {
	w := &world{s: s, m: New(s.rules), left: s.budget}
	w.srv.base, w.srv.uids = 1, 1
	w.srv.start.selected[0] = cell{1, 1}
	return w
}

// own gives the world a machine of its own before that changes. Until then it shares one with the
// world that it was copied from, because most moves turn out to be impossible.
func (w *world) own() *Machine {
	if w.shared {
		w.m, w.shared = w.m.clone(), false
	}
	return w.m
}

// follows makes w a copy of another world, in which a move can be made.
func (w *world) follows(before *world) *world {
	*w = *before
	w.shared, w.calls, w.refuse = true, 0, 0
	return w
}

// Versions, UIDs and keys, as the machine sees them. Versions have three digits, so that the first
// is not 0, which is no version.
const offset = 100

var (
	versionTexts = func() (texts [100]string) {
		for i := range texts {
			texts[i] = strconv.Itoa(offset + i)
		}
		return texts
	}()
	uidTexts = func() (texts [100]types.UID) {
		for i := range texts {
			texts[i] = types.UID("u" + strconv.Itoa(offset+i))
		}
		return texts
	}()
	keyTexts = [keys]string{"default/a", "default/b"}
)

func (v version) String() string {
	switch v {
	case 0:
		return ""
	case anyVersion:
		return "0"
	}
	return versionTexts[v]
}

func versionOf(text string) version {
	switch len(text) {
	case 0:
		return 0
	case 1:
		return anyVersion
	}
	return version(text[0]-'0')*100 + version(text[1]-'0')*10 + version(text[2]-'0') - offset
}

func uidOf(uid types.UID) version {
	if uid == "" {
		return 0
	}
	return versionOf(string(uid[1:]))
}

func keyOf(key string) int8 {
	for k, text := range keyTexts {
		if text == key {
			return int8(k)
		}
	}
	return -1
}

// item is what the machine is told of an object.
func (w *world) item(k int8, c cell, bad bool) Item {
	item := Item{Meta: metaOf(k, c)}
	if bad {
		item.Err = errBad
	}
	item.Held, item.IsHeld = w.held(k)
	return item
}

func metaOf(k int8, c cell) object.Meta {
	meta := object.Meta{Key: keyTexts[k], ResourceVersion: c.at.String()}
	if c.uid != 0 {
		meta.UID = uidTexts[c.uid]
	}
	return meta
}

// held is what the sink tells of a key.
func (w *world) held(k int8) (object.Meta, bool) {
	switch c := w.sink[k]; {
	case c == cell{}, !w.s.rules.SinkTells:
		return object.Meta{}, false
	case w.s.cleared:
		return object.Meta{Key: keyTexts[k]}, true
	default:
		return metaOf(k, c), true
	}
}

var (
	errBad     = errors.New("cannot be decoded")
	errRefused = errors.New("the sink refuses")
)

// subject is the objects that an input is about.
type subject struct {
	key     int8
	object  cell
	list    arrived
	version version // of an answer, or a list
	old     bool
}

// step gives an input to the machine, and performs what comes of it, as the driver of package
// reflector does.
func (w *world) step(in Input, s subject) {
	m := w.own()
	for in != nil {
		effects := m.Step(now, in)
		in = nil
		for i, eff := range effects {
			next := w.perform(eff, s)
			if next != nil {
				in = next
			}
			if isAnswer(next) && i < len(effects)-1 {
				w.violate("%T, which the sink may refuse, is not the last effect of its step", eff)
			}
		}
		if m.pending.any() != isAnswer(in) {
			w.violate("the sink was given nothing that it may refuse, or the machine does not wait for its answer")
		}
	}
}

func isAnswer(in Input) bool {
	switch in.(type) {
	case Took, Refused:
		return true
	}
	return false
}

// answerOf is the input that tells the machine what the sink says.
func answerOf(err error) Input {
	if err != nil {
		return Refused{Err: err}
	}
	return Took{}
}

// call counts a call of the sink, and says whether it is refused.
func (w *world) call() error {
	w.calls++
	if w.calls == w.refuse {
		w.say("# The sink refuses the next call.")
		return errRefused
	}
	return nil
}

func (w *world) perform(eff Effect, s subject) Input {
	w.sayEffect(eff, s)
	switch eff := eff.(type) {
	case Apply:
		if err := w.performApply(eff, s); eff != Resumed {
			return answerOf(err)
		}
	case Replace:
		return answerOf(w.performReplace(eff, s))
	case Collect:
		if w.main.collected.bad[s.key] = s.list.bad[s.key]; s.list.nameless {
			w.main.collected.nameless = true
		} else {
			w.main.collected.objects[s.key] = s.object
		}
	case List:
		w.only(w.main.kind == noRequest, "a list", "a list or watch")
		w.main = request{kind: listRequest, version: versionOf(eff.Version), reuse: eff.Reuse}
	case Watch:
		w.only(w.main.kind == noRequest, "a watch", "a list or watch")
		w.main = request{kind: watchRequest, version: versionOf(eff.Version), initial: eff.Initial}
	case Cancel:
		w.main = request{}
	case Refetch:
		w.only(w.refetch.state == unasked, "a refetch", "a refetch")
		w.refetch = inquiry{state: awaited, key: keyOf(eff.Key), exact: eff.At != "", at: versionOf(eff.At)}
	case CancelRefetch:
		w.refetch = inquiry{}
	case ListMetadata:
		w.only(w.check.state == unasked, "a verification", "a verification")
		w.check = inquiry{state: awaited, key: -1, at: versionOf(eff.Version)}
	case CancelVerification:
		w.check = inquiry{}
	case Compare:
		return Compared{Differences: w.compare()}
	case Applied, Passed, ListUnused, Failing, Relist, Backoff, Recovered, Problem, Released, Verified, Synced:
		// These are for those who watch.
	}
	return nil
}

// only asserts that there is one request of each kind at a time.
func (w *world) only(ok bool, one, other string) {
	if !ok {
		w.violate("%s is begun while %s is open", one, other)
	}
}

func (w *world) violate(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (w *world) performApply(how Apply, s subject) error {
	if how == Resumed || how == InferDelete && !w.s.rules.SinkTells {
		return nil // the sink cannot refuse it; or the driver has nothing to call the sink with
	}
	if err := w.call(); err != nil || how == Resync {
		return err
	}
	c := s.object
	if how == Delete || how == InferDelete {
		c = cell{}
	}
	w.sink[s.key] = c
	return nil
}

// performReplace gives a list to the sink, with what the sink holds of objects that could not be
// used.
func (w *world) performReplace(eff Replace, s subject) error {
	if err := w.call(); err != nil {
		return err
	}
	kept := false
	for k := range int8(keys) {
		switch listed := s.list.objects[k]; {
		case listed == cell{}:
			if eff.KeepUnlisted {
				kept = kept || w.sink[k] != cell{}
			} else {
				w.sink[k] = cell{}
			}
		case s.list.bad[k]:
			if w.s.rules.SinkTells && (w.s.cleared || w.sink[k].uid == listed.uid) || eff.KeepUnlisted {
				kept = kept || w.sink[k] != cell{}
			} else {
				// A sink that does not tell what it holds loses what cannot be used until a refetch
				// brings that back.
				w.sink[k], w.asOf[k], w.whole = cell{}, 0, false
			}
		default:
			w.sink[k] = listed
		}
	}
	w.replaced(s, kept)
	return nil
}

// fold tells the machine's fold of a list each of its items.
func (w *world) fold(v version, a *arrived) Sum {
	reused := w.main.reuse && w.reuses(a)
	fold := w.m.Fold(reused)
	for k := range int8(keys) {
		switch c := a.objects[k]; {
		case c == cell{}:
		case a.bad[k]:
			fold.Bad(w.item(k, c, true))
		default:
			fold.Item(w.item(k, c, false))
		}
	}
	if a.nameless {
		fold.Bad(Item{Err: errBad})
	}
	return fold.Sum(v.String(), 1, reused)
}

// reuses reports whether the sink holds an object of a list in the same version, so that it is not
// decoded again.
func (w *world) reuses(a *arrived) bool {
	for k, c := range a.objects {
		if c != (cell{}) && !a.bad[k] && c == w.sink[k] && !w.s.cleared {
			return true
		}
	}
	return false
}

// compare compares the list of a verification with the sink.
func (w *world) compare() Differences {
	comparison := w.m.Comparison()
	found := w.check.found
	w.check = inquiry{}
	for k, c := range found.objects {
		if c != (cell{}) {
			comparison.Item(w.item(int8(k), c, false))
		}
	}
	for k, c := range w.sink {
		if c != (cell{}) && found.objects[k] == (cell{}) {
			comparison.Missing(keyTexts[k])
		}
	}
	return comparison.Differences()
}
