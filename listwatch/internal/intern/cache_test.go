package intern

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"testing"
)

func TestCacheKeepsWhatComesTwice(t *testing.T) {
	var cache Cache[int]
	text := []byte(`{"f:name":{}}`)
	for i, want := range []bool{false, false, true, true} {
		v, ok := cache.Get(text)
		if ok != want || ok && v != 1 {
			t.Errorf("time %d: %d, %v", i, v, ok)
		}
		if !ok {
			cache.Put(text, i)
		}
	}
}

func TestCacheForgetsWhatIsNotAskedFor(t *testing.T) {
	var cache Cache[int]
	put := func(text string) {
		for range 2 {
			if _, ok := cache.Get([]byte(text)); !ok {
				cache.Put([]byte(text), 0)
			}
		}
	}
	put("once")
	put("always")
	filler := strings.Repeat("x", 4<<10)
	for i := range 2 * maxBytes / len(filler) {
		put(fmt.Sprint(filler, i))
		if _, ok := cache.Get([]byte("always")); !ok {
			t.Fatalf("what is asked for was forgotten at %d", i)
		}
	}
	if _, ok := cache.Get([]byte("once")); ok {
		t.Error("what nobody asks for is still there")
	}
	if cache.bytes > maxBytes {
		t.Errorf("%d bytes in a generation", cache.bytes)
	}
}

func TestCacheTakesNoLongText(t *testing.T) {
	var cache Cache[int]
	long := make([]byte, maxText+1)
	for range 3 {
		cache.Put(long, 1)
		if _, ok := cache.Get(long); ok {
			t.Fatal("a long text was kept")
		}
	}
}

// Whoever takes a value has it alone.
func TestPool(t *testing.T) {
	var (
		pool  = Pool[int]{New: func() *int { return new(int) }}
		group sync.WaitGroup
	)
	for range 8 {
		group.Go(func() {
			for range 1000 {
				v := pool.Get()
				*v++
				pool.Put(v)
			}
		})
	}
	group.Wait()
	if v := pool.Get(); *v == 0 {
		t.Error("the value that was put back is not the one that is handed out")
	}
}

// TestCacheKeepsTextsInTurn: two texts are kept though their hashes have the same place.
func TestCacheKeepsTextsInTurn(t *testing.T) {
	place := func(text []byte) uint64 { return maphash.Bytes(seed, text) % doors }
	a := []byte("a")
	b := a
	for i := 0; string(a) == string(b) || place(a) != place(b); i++ {
		b = []byte(fmt.Sprint(i))
	}
	var cache Cache[int]
	for range 2 {
		cache.Put(a, 1)
		cache.Put(b, 2)
	}
	_, hasA := cache.Get(a)
	_, hasB := cache.Get(b)
	if !hasA || !hasB {
		t.Errorf("kept: %t, %t", hasA, hasB)
	}
}
