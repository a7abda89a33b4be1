package deltafifo

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestIndex compares an index with a map while entries come and go, a handful and many of them.
func TestIndex(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var x index[int]
		model := map[string]*entry[int]{}
		limit := 1 + rnd.IntN(3*maxFew)
		for range 500 {
			key := fmt.Sprint("namespace/name-", rnd.IntN(40))
			if got := x.get(key); got != model[key] || x.find([]byte(key)) != got {
				t.Fatalf("seed %d: get %s: %p, want %p", seed, key, got, model[key])
			}
			switch e := model[key]; {
			case e != nil:
				x.drop(e)
				delete(model, key)
			case len(model) < limit:
				e = &entry[int]{state: state[int]{key: key}}
				x.put(e)
				model[key] = e
			}
			if x.len() != len(model) {
				t.Fatalf("seed %d: %d entries, want %d", seed, x.len(), len(model))
			}
		}
	}
}

// TestIndexGathers goes back from many entries to a few.
func TestIndexGathers(t *testing.T) {
	var x index[int]
	var left ring[*entry[int]]
	for i := range 3 * maxFew {
		e := &entry[int]{state: state[int]{key: fmt.Sprint(i)}}
		x.put(e)
		if i < maxIdle {
			left.push(e)
		}
	}
	for i := maxIdle; i < 3*maxFew; i++ {
		x.drop(x.get(fmt.Sprint(i)))
	}
	if len(x.few) != 0 || len(x.many) != maxIdle {
		t.Fatalf("%d few, %d many, want all in the map", len(x.few), len(x.many))
	}
	x.gather(&left)
	if len(x.few) != maxIdle || len(x.many) != 0 {
		t.Errorf("%d few, %d many, want none in the map", len(x.few), len(x.many))
	}
	for i := range maxIdle {
		if key := fmt.Sprint(i); x.get(key) == nil || x.get(key).key != key {
			t.Errorf("%s is lost", key)
		}
	}
}
