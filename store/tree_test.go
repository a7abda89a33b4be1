package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTree writes at random to a tree of three levels and compares it, and every copy that was
// shared on the way, with maps.
func TestTree(t *testing.T) {
	for _, keys := range []int{10, 300, 20_000} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(keys)))
			type shared struct {
				tree  tree[int]
				model map[string]int
			}
			var (
				tr     tree[int]
				model  = map[string]int{}
				o      = new(owner)
				copies []shared
			)
			grow := true
			for i := range 3 * keys {
				key := fmt.Sprintf("ns/%05d", random.IntN(keys))
				if i%keys == keys/2 {
					grow = !grow
				}
				if grow == (random.IntN(4) > 0) {
					tr.set(o, key, i)
					model[key] = i
				} else {
					_, want := model[key]
					if got := tr.delete(o, key); got != want {
						t.Fatalf("delete(%s) = %v, want %v", key, got, want)
					}
					delete(model, key)
				}
				if i%(keys/2) == 0 {
					copies = append(copies, shared{tr, maps.Clone(model)})
					o = new(owner)
				}
			}
			for _, c := range append(copies, shared{tr, model}) {
				checkTree(t, &c.tree, c.model)
			}
			for _, key := range slices.Sorted(maps.Keys(model)) {
				tr.delete(o, key)
			}
			if tr.root != nil || tr.len != 0 {
				t.Errorf("an emptied tree has %d entries and root %v", tr.len, tr.root)
			}
		})
	}
}

// Objects that come in list order must not leave half-empty nodes behind.
func TestTreeInOrder(t *testing.T) {
	const n = 64 * 64
	var tr tree[int]
	o, model := new(owner), map[string]int{}
	for i := range n {
		key := fmt.Sprintf("%05d", i)
		tr.set(o, key, i)
		model[key] = i
	}
	checkTree(t, &tr, model)
	if got := leaves(tr.root); got != n/maxEntries {
		t.Errorf("%d leaves, want %d: all full", got, n/maxEntries)
	}
}

func TestTreeBuild(t *testing.T) {
	for _, n := range []int{0, 1, 47, 48, 64, 65, 111, 112, 113, 5000} {
		var e cells[int]
		model := map[string]int{}
		for i := range n {
			key := fmt.Sprintf("%05d", (i*7)%n) // not in order, and some twice if 7 divides n
			e = append(e, newCell(nil, key, i))
			model[key] = i
		}
		tr := build(new(owner), e.normalized())
		checkTree(t, &tr, model)
	}
}

func leaves[V any](n *node[V]) int {
	if n.children == nil {
		return 1
	}
	sum := 0
	for _, child := range n.children {
		sum += leaves(child)
	}
	return sum
}

func checkTree(t *testing.T, tr *tree[int], model map[string]int) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(model))
	if tr.len != len(keys) || !slices.Equal(tr.keys(), keys) {
		t.Fatalf("%d keys, want %d, or other ones", tr.len, len(keys))
	}
	values := tr.values()
	for i, key := range keys {
		if v, ok := tr.get(key); !ok || v != model[key] || values[i] != v {
			t.Fatalf("get(%s) = %d, %v; values %d; want %d", key, v, ok, values[i], model[key])
		}
	}
	if cap(values) > len(values) && len(values) > 0 {
		t.Errorf("values has room for %d, needs %d", cap(values), len(values))
	}
	if tr.root == nil {
		return
	}
	depth := -1
	var visit func(n *node[int], low, high string, level int)
	visit = func(n *node[int], low, high string, level int) {
		if n.len() == 0 || n.len() > maxEntries || max(cap(n.keys), cap(n.cells), cap(n.children)) > 2*maxEntries {
			t.Fatalf("a node of %d entries, room for %d", n.len(), max(cap(n.cells), cap(n.children)))
		}
		if n.children == nil {
			if depth == -1 {
				depth = level
			}
			if level != depth || n.keys != nil || n.cells[0].key < low || (high != "" && n.cells[len(n.cells)-1].key >= high) {
				t.Fatalf("leaf %q..%q at level %d outside of %q..%q at level %d", n.cells[0].key, n.cells[len(n.cells)-1].key, level, low, high, depth)
			}
			return
		}
		if len(n.keys) != len(n.children) || n.cells != nil {
			t.Fatalf("inner node of %d keys, %d children, %d cells", len(n.keys), len(n.children), len(n.cells))
		}
		for i, child := range n.children {
			from, to := low, high
			if i > 0 {
				from = n.keys[i]
			}
			if i+1 < len(n.keys) {
				to = n.keys[i+1]
			}
			visit(child, from, to, level+1)
		}
	}
	visit(tr.root, "", "", 0)
}
