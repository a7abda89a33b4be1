package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// FuzzPending plays random histories of a few keys against a handler that takes a change now and
// then, and compares what the handler knows with what is the case: a handler that applies what it
// is told must never be told something impossible, and when nothing is pending it knows everything.
// While there is a border, it is told only of initial objects.
func FuzzPending(f *testing.F) {
	random := rand.NewChaCha8([32]byte{})
	for i := range 1000 { // what every run plays
		script := make([]byte, i%40)
		_, _ = random.Read(script)
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		const keys = 3
		var p pending[int]
		if len(script)%2 == 1 {
			p.hold()
		}
		world := map[string]int{}   // what is the case; the value is a version
		handler := map[string]int{} // what the handler knows
		initial := map[string]bool{}
		version := 0
		deliver := func() bool {
			c := p.take()
			if c == nil {
				return false
			}
			if c.mark != nil {
				return true
			}
			check := func(ok bool, what string) {
				if !ok {
					t.Fatalf("%s of %s: %+v; the handler knows %v", what, c.key, *c, handler)
				}
			}
			known, knows := handler[c.key]
			if c.gone {
				check(knows && c.told && c.final >= known, "deletion")
				delete(handler, c.key)
			}
			if c.there {
				if c.told && !c.gone {
					check(knows && c.old == known && c.obj >= c.old, "update")
				} else {
					_, still := handler[c.key]
					check(!still && c.initial == initial[c.key], "addition")
				}
				handler[c.key] = c.obj
			}
			check(c.gone || c.there, "nothing")
			check(p.border == nil || c.initial && !c.told, "before the border")
			return true
		}
		for _, op := range script {
			key := fmt.Sprint(op % keys)
			old, exists := world[key]
			version++
			switch what := op / keys % 4; {
			case what == 0 && exists:
				delete(world, key)
				p.remove(key, old, version, false)
			case what == 0 || what == 2 && !exists:
				world[key], initial[key] = version, op > 127
				p.add(key, version, op > 127)
			case what == 1 && exists:
				world[key] = version
				p.update(key, old, version)
			case what == 2 && !p.has(key): // a resync
				p.update(key, old, old)
			case what == 3:
				deliver()
			}
			if p.len() > keys {
				t.Fatalf("%d changes for %d keys", p.len(), keys)
			}
		}
		p.lift(func() {})
		for deliver() {
		}
		if fmt.Sprint(handler) != fmt.Sprint(world) {
			t.Fatalf("the handler knows %v, the case is %v", handler, world)
		}
		if p.first != nil || p.last != nil || p.len() != 0 {
			t.Fatalf("not empty: %+v", p)
		}
	})
}

// The memory of a burst is given back.
func TestPendingShrinks(t *testing.T) {
	var p pending[int]
	for i := range 2 * manyChanges {
		p.add(fmt.Sprint(i), i, false)
	}
	for p.len() > 0 {
		p.take()
	}
	if p.byKey != nil || p.peak != 0 {
		t.Errorf("map of %d keys was kept", p.peak)
	}
}

// A mark comes after what was pending when it was made, also where a change joins one before it.
func TestPendingMark(t *testing.T) {
	var p pending[string]
	p.add("a", "a1", true)
	p.mark(func() {})
	p.add("b", "b1", false)
	p.update("a", "a1", "a2")
	got := ""
	for c := p.take(); c != nil; c = p.take() {
		got += c.obj
		if c.mark != nil {
			got += "|"
		}
	}
	if want := "a2|b1"; got != want {
		t.Errorf("order is %s, want %s", got, want)
	}
}
