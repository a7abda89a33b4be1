package source

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// walk follows pages of size objects through keys, rounds times, with a new token each time, and
// returns how many pages there were and the error that ended them.
func walk(keys []string, size, rounds int) (pages int, err error) {
	var t trail
	for range rounds {
		for i, key := range keys {
			t.visit(key)
			if (i+1)%size > 0 && i+1 < len(keys) {
				continue
			}
			pages++
			if err := t.follow(fmt.Sprint("token ", pages-1), fmt.Sprint("token ", pages)); err != nil {
				return pages, err
			}
		}
	}
	return pages, nil
}

// FuzzTrail lists objects in any order. A list that ends is never refused. A list that begins again
// and again is: at the latest when its objects come for the third time.
func FuzzTrail(f *testing.F) {
	f.Add(uint64(1), uint16(500), uint8(1), false)
	f.Add(uint64(2), uint16(500), uint8(7), true)
	f.Fuzz(func(t *testing.T, seed uint64, objects uint16, size uint8, shuffled bool) {
		if objects == 0 || size == 0 {
			return
		}
		keys := make([]string, objects)
		for i := range keys {
			keys[i] = fmt.Sprintf("ns-%02d/%05d", i/100, i)
		}
		if shuffled {
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		}
		once, err := walk(keys, int(size), 1)
		if err != nil {
			t.Fatalf("%d objects in pages of %d: %v at page %d", objects, size, err, once)
		}
		pages, err := walk(keys, int(size), 3+maxStalePages)
		if most := 2*once + maxStalePages; !errors.Is(err, errContinueLoop) || pages > most {
			t.Fatalf("%d objects in pages of %d, again and again: %v after %d pages, want errContinueLoop after %d at most", objects, size, err, pages, most)
		}
	})
}

// A list in the order of its keys costs no memory.
func TestTrailRemembersNoKeysOfAnOrderedList(t *testing.T) {
	var path trail
	for i := range 1000 {
		path.visit(fmt.Sprintf("shop/%04d", i))
	}
	if len(path.others) > 0 {
		t.Errorf("%d keys are remembered", len(path.others))
	}
}
