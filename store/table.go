package store

import (
	"hash/maphash"
	"sync/atomic"
)

// table finds cells by key: a hash table with linear probing, which is read without a lock while
// one writer changes it. Its zero value is empty and ready.
//
// A map and a lock would do, and were measured: two readers together then take 348 ns for a Get
// (client-go's store, which is that), and 57 with this table, because no reader waits; and a map
// takes twice the memory, because it holds the header of the key, which a cell has anyway, and
// gives none back when objects go. With a sync.Map no reader waits either, but it takes 125 bytes
// for a key; this table takes 20.
type table[V any] struct {
	buckets atomic.Pointer[[]bucket[V]] // nil while the table has never held anything; the slice itself never changes
	len     int                         // the number of cells; the writer's
	used    int                         // the number of slots that are not free; the writer's
}

// bucket is some slots: pairs of a hash and a cell. It is a cache line, which as a rule is all of
// the buckets that a search reads.
//
// A cell is in the first slot that was free when it came, of the bucket that its hash says or of
// those that follow. A free slot has the hash 0, and no search goes beyond it. One whose cell was
// removed is not free again.
//
// The writer sets the cell of a slot first and the hash after it. So whoever finds the hash finds
// the cell, or no cell if it was removed since.
type bucket[V any] struct {
	hashes [bucketSize]atomic.Uint32
	cells  [bucketSize]atomic.Pointer[cell[V]]
}

const (
	bucketSize = 5 // of 12 bytes each
	removed    = 1 // in the place of the hash of a cell that was removed
)

// hashString is the hash of a key: half of what the runtime's own maps use, and neither 0 nor
// removed.
func hashString(seed maphash.Seed, key string) uint32 {
	return max(removed+1, uint32(maphash.String(seed, key)))
}

// hashBytes is hashString of a key that is not a string yet.
func hashBytes(seed maphash.Seed, key []byte) uint32 {
	return max(removed+1, uint32(maphash.Bytes(seed, key)))
}

// room is the number of slots in so many buckets that may be in use: there has to be a free one,
// and with one in eight searches are short.
func room(buckets int) int { return (buckets*bucketSize - 1) * 7 / 8 }

// find returns the cell of key, or nil. It takes no lock, and does not allocate.
func (t *table[V]) find(hash uint32, key string) *cell[V] { return find(t, hash, key) }

// findBytes is find for a key that is not a string yet.
func (t *table[V]) findBytes(hash uint32, key []byte) *cell[V] { return find(t, hash, key) }

func find[V any, K string | []byte](t *table[V], hash uint32, key K) *cell[V] {
	buckets := t.buckets.Load()
	if buckets == nil {
		return nil
	}
	for at, mask := hash, uint32(len(*buckets)-1); ; at++ {
		b := &(*buckets)[at&mask]
		for i := range b.hashes {
			switch b.hashes[i].Load() {
			case 0:
				return nil
			case hash:
				if c := b.cells[i].Load(); c != nil && c.key == string(key) {
					return c
				}
			}
		}
	}
}

// put puts a cell into the table, in the place of old, which is the one with its key, or nil if
// there is none. There is one writer at a time.
func (t *table[V]) put(hash uint32, old, c *cell[V]) {
	if old != nil {
		b, i := t.slot(hash, old)
		b.cells[i].Store(c)
		return
	}
	buckets := t.buckets.Load()
	if buckets == nil || t.used >= room(len(*buckets)) {
		buckets = t.resize(t.len + t.len/8 + 1)
	}
	insert(*buckets, hash, c)
	t.used++
	t.len++
}

// insert puts a cell into the first slot that is free.
func insert[V any](buckets []bucket[V], hash uint32, c *cell[V]) {
	for at, mask := hash, uint32(len(buckets)-1); ; at++ {
		b := &buckets[at&mask]
		for i := range b.hashes {
			if b.hashes[i].Load() == 0 {
				b.cells[i].Store(c)
				b.hashes[i].Store(hash)
				return
			}
		}
	}
}

// slot returns where a cell is. It must be there.
func (t *table[V]) slot(hash uint32, c *cell[V]) (b *bucket[V], i int) {
	buckets := *t.buckets.Load()
	for at, mask := hash, uint32(len(buckets)-1); ; at++ {
		b = &buckets[at&mask]
		for i := range b.cells {
			if b.cells[i].Load() == c {
				return b, i
			}
		}
	}
}

// remove takes a cell out, which must be there.
func (t *table[V]) remove(hash uint32, c *cell[V]) {
	b, i := t.slot(hash, c)
	b.hashes[i].Store(removed)
	b.cells[i].Store(nil)
	t.len--
	if buckets := len(*t.buckets.Load()); t.len < room(buckets)/4 {
		t.resize(t.len)
	}
}

// resize moves all cells to buckets with room for n. Who searches at this moment continues in the
// old ones, which hold what was true when the search began. The keys are not hashed again.
func (t *table[V]) resize(n int) *[]bucket[V] {
	size := 1
	for room(size) < n {
		size *= 2
	}
	buckets := make([]bucket[V], size)
	if old := t.buckets.Load(); old != nil {
		for b := range *old {
			from := &(*old)[b]
			for i := range from.cells {
				if c := from.cells[i].Load(); c != nil {
					insert(buckets, from.hashes[i].Load(), c)
				}
			}
		}
	}
	t.used = t.len
	t.buckets.Store(&buckets)
	return &buckets
}

// exchange makes the table hold what another does, which nobody else may have.
func (t *table[V]) exchange(other *table[V]) {
	t.len, t.used = other.len, other.used
	t.buckets.Store(other.buckets.Load())
}
