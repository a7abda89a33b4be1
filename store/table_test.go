package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestTable writes at random to a table whose hashes are poor, so that cells stand far from home
// and across the end, and compares it with a map.
func TestTable(t *testing.T) {
	for _, keys := range []int{5, 40, 3000} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(keys)))
			hash := func(i int) uint32 { return max(removed+1, uint32(i/3)*0x40000001) } // three keys have one
			var (
				table table[int]
				model = map[string]*cell[int]{}
				peak  int
			)
			for i := range 20 * keys {
				n := random.IntN(keys)
				key := fmt.Sprint(n)
				adds := random.IntN(4) > 0
				if i/(5*keys)%2 == 1 {
					adds = !adds // now it shrinks
				}
				if c := model[key]; adds {
					model[key] = newCell(nil, key, i)
					table.put(hash(n), c, model[key])
				} else if c != nil {
					table.remove(hash(n), c)
					delete(model, key)
				}
				peak = max(peak, table.size())
				if i%keys == 0 {
					checkTable(t, &table, model, keys, hash)
				}
			}
			checkTable(t, &table, model, keys, hash)
			for n := range keys {
				if c := model[fmt.Sprint(n)]; c != nil {
					table.remove(hash(n), c)
				}
			}
			if table.size() > bucketSize || keys > 6 && peak <= bucketSize {
				t.Errorf("an emptied table has %d slots, and had at most %d", table.size(), peak)
			}
		})
	}
}

func checkTable(t *testing.T, table *table[int], model map[string]*cell[int], keys int, hash func(int) uint32) {
	t.Helper()
	if table.len != len(model) || table.size() > 8*len(model)+3*bucketSize {
		t.Fatalf("%d cells in %d slots, want %d", table.len, table.size(), len(model))
	}
	for n := range keys {
		key := fmt.Sprint(n)
		if got := table.find(hash(n), key); got != model[key] {
			t.Fatalf("find(%s) = %v, want %v", key, got, model[key])
		}
		if got := table.findBytes(hash(n), []byte(key)); got != model[key] {
			t.Fatalf("findBytes(%s) = %v, want %v", key, got, model[key])
		}
	}
}

func (t *table[V]) size() int {
	if s := t.buckets.Load(); s != nil {
		return len(*s) * bucketSize
	}
	return 0
}

// What a table has room for goes in without moving anything.
func TestTableHasRoom(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 14, 15, 1000} {
		var table table[int]
		table.resize(n)
		slots := table.size()
		for i := range n {
			table.put(uint32(i+removed+1), nil, newCell(nil, fmt.Sprint(i), i))
		}
		if table.size() != slots {
			t.Errorf("made for %d cells, %d slots became %d", n, slots, table.size())
		}
	}
}
