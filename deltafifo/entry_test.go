package deltafifo

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRing(t *testing.T) {
	var r ring[int]
	in, out := 0, 0
	for _, step := range []int{1, -1, 40, -10, 500, -520, 3, -13, 1000, -1000} {
		for ; step > 0; step-- {
			r.push(in)
			in++
		}
		for ; step < 0; step++ {
			if got := r.at(0); got != out {
				t.Fatalf("at(0) = %d, want %d", got, out)
			}
			if got := r.pop(); got != out {
				t.Fatalf("pop() = %d, want %d", got, out)
			}
			out++
		}
		if r.len != in-out {
			t.Fatalf("len = %d, want %d", r.len, in-out)
		}
	}
	if len(r.slots) > minRing {
		t.Errorf("an empty ring has %d slots", len(r.slots))
	}
}

// Neither a burst nor many keys that come once may cost memory forever: the memory that an empty
// queue keeps is bounded.
func TestQueueForgets(t *testing.T) {
	const keys = 5000
	q := New(Options[*metav1.PartialObjectMetadata]{})
	add := func(i int) {
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
		if err := q.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	pop := func() {
		if err := q.Pop(t.Context(), func(Entry[*metav1.PartialObjectMetadata]) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		if len(q.entries) > 0 || len(q.order.slots) > minRing || q.peak > manyEntries {
			t.Errorf("%s: %d entries, %d slots, and a map of %d", when, len(q.entries), len(q.order.slots), q.peak)
		}
	}
	for i := range keys {
		add(i)
		pop()
	}
	check("one at a time")
	for i := range keys {
		add(i)
	}
	for range keys {
		pop()
	}
	check("after a burst")
}

func TestEventAllocatesItsKeyAndDeltaOnly(t *testing.T) {
	q := New(Options[*metav1.PartialObjectMetadata]{})
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "namespace", Name: "name"}}
	process := func(Entry[*metav1.PartialObjectMetadata]) error { return nil }
	ctx := t.Context()
	if got := testing.AllocsPerRun(1000, func() {
		_ = q.Add(obj)
		_ = q.Pop(ctx, process)
	}); got > 2 {
		t.Errorf("%v allocations for Add and Pop, want 2", got)
	}
}
