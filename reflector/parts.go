package reflector

import (
	"hash/maphash"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// A list for a [Remote] sink is never whole in memory. The driver gives each part of the list to the sink, and to the fold. The fold
// sums up what the machine has to know about the list. At the end of the list, the machine decides whether to use it. If so, the
// sink makes the list its whole state.

// parts is what the driver keeps of a list that arrives in parts.
type parts struct {
	fold   *protocol.Fold
	items  int  // that can be used
	reused bool // the sink holds one of them in the same version
	keep   []string
	errors []*listwatch.ObjectError
	err    error // of the sink; the list is then read to its end, and not used

	// brought has the hashes of the keys whose objects were given to the sink. A key may come twice in one list, and the later
	// object is right. So the driver gives the later object to the sink, too, even if the sink held this version before the list.
	// If two keys have the same hash, the driver may give an object that the sink does not need. That does no harm.
	seed    maphash.Seed
	brought map[uint64]struct{}
}

// maxExpected is how many keys the driver announces to the sink at once.
const maxExpected = 256

// beginParts begins a list.
func (d *driver[T]) beginParts(reuse bool) {
	d.parts = &parts{fold: d.machine.Fold(reuse), seed: maphash.MakeSeed(), brought: map[uint64]struct{}{}}
	d.sink.remote.BeginList()
}

// takePart gives a part of the list to the fold and to the sink.
func (d *driver[T]) takePart(part listwatch.Part[T]) {
	p := d.parts
	if part.Again {
		d.beginParts(p.fold.NeedsHeld())
		return
	}
	came := &source.List[T]{Items: part.Items, Metas: part.Metas}
	var objects []T
	var metas []listwatch.Meta
	var same []string
	for i := range came.Items {
		if i%maxExpected == 0 && p.fold.NeedsHeld() {
			d.expectItems(came.Meta, i, len(came.Items))
		}
		meta, ok := came.Meta(i)
		if !ok {
			p.fold.Anonymous()
			continue
		}
		item := protocol.Item{Meta: meta}
		if p.fold.NeedsHeld() {
			item.Held, item.IsHeld = d.held(meta.Key)
		}
		p.fold.Item(item)
		if item.IsHeld && item.Held.UID == meta.UID && item.Held.ResourceVersion == meta.ResourceVersion && !p.has(meta.Key) {
			same = append(same, meta.Key)
			continue
		}
		if p.fold.NeedsHeld() {
			p.brought[maphash.String(p.seed, meta.Key)] = struct{}{}
		}
		objects, metas = append(objects, came.Items[i]), append(metas, meta)
	}
	p.items += len(came.Items)
	p.reused = p.reused || len(same) > 0
	for _, bad := range part.Errors {
		if p.fold.Bad(d.item(bad.Meta, bad)) {
			p.keep = append(p.keep, bad.Meta.Key)
		}
	}
	p.errors = append(p.errors, part.Errors...)
	if p.err == nil {
		p.err = d.sink.remote.ListPart(objects, metas, same)
	}
}

// has reports whether an object of a key was given to the sink.
func (p *parts) has(key string) bool {
	if len(p.brought) == 0 {
		return false
	}
	_, ok := p.brought[maphash.String(p.seed, key)]
	return ok
}

// endParts tells the sink to make the list its whole state. It returns the number of objects in the list. The driver has collected
// initial events as one list; endParts gives them to the sink as one part.
func (d *driver[T]) endParts(eff protocol.Replace, s *subject[T]) (int, error) {
	p := s.parts
	if p == nil {
		d.beginParts(false)
		d.takePart(listwatch.Part[T]{Items: s.list.Items, Metas: s.list.Metas})
		p, d.parts = d.parts, nil
		p.keep = s.keep
	}
	s.parts = nil
	if p.err != nil {
		d.sink.remote.DropList()
		return p.items, p.err
	}
	return p.items, d.sink.remote.EndList(eff.Version, p.keep, eff.KeepUnlisted)
}

// dropParts tells the sink that the list that is open will not end.
func (d *driver[T]) dropParts() {
	if d.parts != nil {
		d.parts = nil
		d.sink.remote.DropList()
	}
}
