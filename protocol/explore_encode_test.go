package protocol

import (
	"bytes"
	"hash/maphash"
	"time"
)

// A state is encoded so that two worlds that will behave alike are one state, if that is cheap to
// see:
//
//   - Keys are symmetric: of the two encodings of a world and of its mirror image the lesser one counts.
//   - UIDs are compared for equality only, so they are numbered in the order of the encoding.
//   - What is below the lowest version that anyone refers to is no longer in the log but in its start, see collapse. Versions up
//     to there are compared with each other only, so they are numbered by rank; those above keep their distances, because
//     the server will give out the versions between its head and those that a backup took back.
//   - Of times only remains whether a timer is armed, see explore_time_test.go.
//
// TestEncodingKnowsEveryField fails when the machine gets a field that is not thought of here.
type encoder struct {
	w      *world
	out    []byte
	mirror bool
	used   uint64 // versions that the state refers to, if collect is set
	ranks  [64]byte
	uids   [64]byte
	next   byte
}

// identity is a hash of a state of 128 bits: a collision among some million states is out of the
// question.
type identity [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// identify returns what identifies the state of a world. Before, it makes the world simpler: see
// forget and collapse.
func (e *encoder) identify(w *world, scratch *[2][]byte) identity {
	w.forget()
	w.srv.collapse(w.lowest())
	e.w = w
	e.rank(scratch)
	for i := range scratch {
		e.start(scratch[i][:0], i == 1)
		e.world()
		scratch[i] = e.out
	}
	least := scratch[0]
	if bytes.Compare(scratch[1], least) < 0 {
		least = scratch[1]
	}
	return identity{maphash.Bytes(seeds[0], least), maphash.Bytes(seeds[1], least)}
}

func (e *encoder) start(out []byte, mirror bool) {
	e.out, e.mirror, e.next = out, mirror, 0
	clear(e.uids[:])
}

// rank numbers the versions: see encoder.
func (e *encoder) rank(scratch *[2][]byte) {
	for i := range e.ranks {
		e.ranks[i] = byte(i)
	}
	e.used = 0
	e.start(scratch[0][:0], false)
	e.world()
	scratch[0] = e.out
	const middle = 100
	rank := byte(middle)
	for v := int(e.w.srv.base); v > 0; v-- {
		e.ranks[v] = rank
		if e.used&(1<<v) != 0 || v == int(e.w.srv.base) {
			rank--
		}
	}
	for v := int(e.w.srv.base) + 1; v < len(e.ranks); v++ {
		e.ranks[v] = middle + byte(v) - byte(e.w.srv.base)
	}
}

// lowest is the lowest version that anyone refers to as a point in the log. While a backup may be
// restored, that is any.
func (w *world) lowest() version {
	low := w.srv.head()
	if w.can(restores) || !w.m.synced {
		return 0
	}
	for _, v := range [...]version{
		versionOf(w.m.resume), w.asOf[0], w.asOf[1], w.main.version, w.main.pos, w.main.upTo, w.check.at, w.refetch.at,
	} {
		if v > 0 {
			low = min(low, v)
		}
	}
	if w.unanswered {
		low = min(low, w.reached)
	}
	if w.m.history.events > 0 {
		low = min(low, versionOf(w.m.history.since))
	}
	if u := w.m.history.unverified; u != nil {
		for _, q := range u.questions {
			low = min(low, versionOf(q.at))
		}
	}
	return low
}

func (e *encoder) byte(b byte) { e.out = append(e.out, b) }

func (e *encoder) bool(b bool) {
	if b {
		e.byte(1)
		return
	}
	e.byte(0)
}

func (e *encoder) armed(at time.Time) { e.bool(!at.IsZero()) }

func (e *encoder) version(v version) {
	if v <= 0 {
		e.byte(byte(v))
		return
	}
	e.used |= 1 << v
	e.byte(e.ranks[v])
}

func (e *encoder) versionText(text string) { e.version(versionOf(text)) }

func (e *encoder) uid(u version) {
	if u > 0 {
		if e.uids[u] == 0 {
			e.next++
			e.uids[u] = e.next
		}
		u = version(e.uids[u])
	}
	e.byte(byte(u))
}

func (e *encoder) cell(c cell) {
	e.uid(c.uid)
	e.version(c.at)
}

// key encodes which key it is; -1 stands for none.
func (e *encoder) key(k int8) {
	if e.mirror && k >= 0 {
		k = keys - 1 - k
	}
	e.byte(byte(k))
}

// keys calls do for each key, in the order of the encoding.
func (e *encoder) keys(do func(k int8)) {
	for k := range int8(keys) {
		if e.mirror {
			k = keys - 1 - k
		}
		do(k)
	}
}

func (e *encoder) world() {
	w := e.w
	e.server(&w.srv)
	e.keys(func(k int8) {
		e.cell(w.sink[k])
		e.version(w.asOf[k])
	})
	e.request(&w.main)
	e.question(&w.refetch)
	e.question(&w.check)
	e.bool(w.listed && w.can(restores))
	e.bool(w.reconnected)
	for _, n := range w.left {
		e.byte(byte(n))
	}
	e.bool(w.mixed)
	e.bool(w.whole)
	e.version(w.outdated)
	if w.mixed || w.can(restores) {
		e.bool(w.relisted)
		e.bool(w.unanswered)
		e.version(w.reached)
		e.thing(w.newest)
	}
	e.machine(w.m)
}

func (e *encoder) server(s *server) {
	e.byte(byte(s.down))
	e.byte(byte(s.entries))
	e.keys(func(k int8) {
		e.cell(s.start.selected[k])
		e.cell(s.start.hidden[k])
	})
	for i := range s.entries {
		w := s.log[i]
		e.byte(byte(w.kind))
		e.key(w.key)
		e.uid(w.uid)
	}
}

func (e *encoder) request(r *request) {
	e.byte(byte(r.kind))
	if r.kind == noRequest {
		return
	}
	e.version(r.version)
	e.bool(r.reuse)
	e.bool(r.open)
	e.version(r.pos)
	e.bool(r.initial)
	if r.initial {
		e.version(r.upTo)
		e.keys(func(k int8) { e.bool(k < r.sent) })
		e.arrived(&r.collected)
	}
}

func (e *encoder) arrived(a *arrived) {
	e.keys(func(k int8) {
		e.cell(a.objects[k])
		e.bool(a.bad[k])
	})
	e.bool(a.nameless)
}

func (e *encoder) question(q *inquiry) {
	e.byte(byte(q.state))
	if q.state == unasked {
		return
	}
	e.key(q.key)
	e.bool(q.exact)
	e.version(q.at)
	e.arrived(&q.found)
	e.bool(q.more)
	e.bool(q.old)
}

func (e *encoder) thing(t thing) {
	e.bool(t.known)
	if t.known {
		e.key(t.key)
		e.cell(t.cell)
		e.bool(t.gone)
	}
}
