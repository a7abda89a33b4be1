package intern

import (
	"fmt"
	"testing"
	"unsafe"
)

func TestTableReturnsTheSameString(t *testing.T) {
	var table Table
	for _, text := range []string{"", "a", "ab", "registry.example.com/shop/frontend:v1.42.7"} {
		first, second := table.String([]byte(text)), table.String([]byte(text))
		if first != text || second != text {
			t.Errorf("%q became %q and %q", text, first, second)
		}
		if len(text) > 1 && unsafe.StringData(first) != unsafe.StringData(second) {
			t.Errorf("%q stands twice in memory", text)
		}
		if boxed := table.Any([]byte(text)); boxed != any(text) {
			t.Errorf("%q became %v", text, boxed)
		}
	}
}

func TestTableDoesNotAllocateForWhatItKnows(t *testing.T) {
	var table Table
	text := []byte("kubernetes.io/hostname")
	table.String(text)
	if n := testing.AllocsPerRun(100, func() { table.String(text); table.Any(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A string that repeats stays, however many pass that do not.
func TestTableKeepsWhatRepeats(t *testing.T) {
	var table Table
	often := []byte("Running")
	table.String(often)
	kept := 0
	const rounds = 2_000
	for i := range rounds {
		for j := range 10 {
			table.String(fmt.Appendf(nil, "uid-%d-%d", i, j))
		}
		before := unsafe.StringData(table.String(often))
		if before == unsafe.StringData(table.String(often)) {
			kept++
		}
	}
	if kept < rounds*9/10 {
		t.Errorf("it was forgotten %d times in %d", rounds-kept, rounds)
	}
}

func TestTableIsBounded(t *testing.T) {
	var table Table
	for i := range 100_000 {
		text := fmt.Sprintf("pod-%d", i)
		if got := table.String([]byte(text)); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	}
	if len(table.sets) != maxSets {
		t.Errorf("%d sets, want %d", len(table.sets), maxSets)
	}
	long := make([]byte, MaxString+1)
	table.String(long)
	for _, s := range table.sets {
		for _, kept := range s.texts {
			if len(kept) > MaxString {
				t.Error("a long string was kept")
			}
		}
	}
}
