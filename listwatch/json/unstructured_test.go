package json

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
)

// A Pod comes out as from apimachinery, from a decoder that has seen others like it.
func TestPodsAsApimachinery(t *testing.T) {
	items := podlist.Items(t)
	for _, share := range []bool{false, true} {
		decoder := treeDecoder{share: share}
		for round := range 2 {
			for i, item := range items {
				want, err := apimachinery(item)
				must.OK(t, err)
				got, err := decoder.Decode(item)
				must.OK(t, err)
				if !reflect.DeepEqual(want, got) {
					t.Fatalf("share=%v, round %d, Pod %d: (-apimachinery +ours)\n%s", share, round, i, cmp.Diff(want, got))
				}
			}
		}
	}
}

// same reports whether two maps are one.
func same(a, b any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func TestSharing(t *testing.T) {
	const object = `{"metadata":{"labels":{"app":"web"}},"spec":{"probe":{"port":80}}}`
	for _, share := range []bool{false, true} {
		decoder := treeDecoder{share: share}
		var last, next map[string]any
		for range 4 { // a subtree is kept when it comes for the second time
			var err error
			last = next
			if next, err = decoder.Decode([]byte(object)); err != nil {
				t.Fatal(err)
			}
		}
		if same(last, next) || same(last["metadata"], next["metadata"]) {
			t.Error("an object and its metadata must be its own")
		}
		if got := same(last["spec"], next["spec"]); got != share {
			t.Errorf("share=%v: spec is shared: %v", share, got)
		}
		labels := func(m map[string]any) any { return m["metadata"].(map[string]any)["labels"] }
		if got := same(labels(last), labels(next)); got != share {
			t.Errorf("share=%v: labels are shared: %v", share, got)
		}
	}
}

// As deep as json/v2 and apimachinery go, and no deeper.
func TestDepth(t *testing.T) {
	nested := func(depth int) []byte {
		return []byte(`{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
	}
	for depth, ok := range map[int]bool{9999: true, 10000: true, 10001: false} {
		_, want := apimachinery(nested(depth))
		_, err := (&treeDecoder{share: true}).Decode(nested(depth))
		if (want == nil) != ok || (err == nil) != ok {
			t.Errorf("depth %d: error %.60v, apimachinery's %.60v", depth, err, want)
		}
	}
}

// A claim of many members costs nothing before they are there.
func TestCommasClaimNoMemory(t *testing.T) {
	data := []byte(`{"a":{` + strings.Repeat(",", 1<<20) + `}}`)
	decoder := treeDecoder{share: true}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decoder.Decode(data); err == nil {
				b.Fatal("no error")
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

// loop is a type that contains itself.
type loop struct {
	F *loop `json:"f"`
}

// Of parts in parts, no more levels than a few are kept: what is allocated for them grows
// with their number, and not with its square.
func TestSharingOfDeepValuesIsLinear(t *testing.T) {
	object := []byte(strings.Repeat(`{"f":`, 1000) + "null" + strings.Repeat("}", 1000))
	decoder := newStructDecoder(reflect.TypeFor[loop](), true)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 { // what comes for the second time is kept
		must.OK(t, decoder.Decode(object, new(loop)))
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 600<<10 {
		t.Errorf("%d bytes were allocated; without a bound it is 1.4 MB", allocated)
	}
}
