package zstd_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/podlist"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/listwatch/lazy/zstd"
)

// pod has all of a Pod that is of interest here.
type pod struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              map[string]any `json:"spec"`
}

// Objects are the same whether they are packed or not, to several goroutines too, and much smaller
// behind the dictionary.
func TestPacked(t *testing.T) {
	plain, packed := pods(t, nil), pods(t, zstd.New())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, want := range plain {
				got := packed[i]
				if string(got.Bytes()) != string(want.Bytes()) {
					t.Errorf("Pod %d: %.80q", i, got.Bytes())
				}
				a, errA := want.Get()
				b, errB := got.Get()
				if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
					t.Errorf("Pod %d: %v, %v", i, errA, errB)
				}
				if node, err := lazy.Path[map[string]string](got, "metadata.annotations"); err != nil || !reflect.DeepEqual(node, a.Annotations) {
					t.Errorf("Pod %d: %v, %v", i, node, err)
				}
			}
		})
	}
	group.Wait()
}

// Of the objects behind the dictionary a fifth remains at most, although none of them is in it.
func TestPackedSize(t *testing.T) {
	packer := zstd.New()
	before, after := 0, 0
	for i, obj := range pods(t, nil) {
		data := obj.Bytes()
		small := packer.Pack(data)
		if len(small) < len(data) && string(packer.Unpack(small)) != string(data) {
			t.Fatalf("Pod %d comes back as another", i)
		}
		if i >= 100 {
			before, after = before+len(data), after+len(small)
		}
	}
	if before == 0 || after*5 > before {
		t.Errorf("%d bytes are %d, packed", before, after)
	}
	t.Logf("%d bytes are %d, packed", before, after)
}

// A message that begins as zstd does is no packed object, and bytes that do not become fewer stay
// as they are.
func TestNotPacked(t *testing.T) {
	packer := zstd.New()
	encoding, err := lazy.New[*metav1.PartialObjectMetadata](lazy.Options{Encoding: listwatch.Protobuf, Packer: packer})
	must.OK(t, err)
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazy.Object[*metav1.PartialObjectMetadata]](), format.Options{})
	must.OK(t, err)
	message := []byte("\x28\xb5\x2f" + "\xfd\x01abcd" + "\x0a\x03\x0a\x01a") // fields 5 and 31, and the metadata
	var obj *lazy.Object[*metav1.PartialObjectMetadata]
	must.OK(t, unmarshal(message, &obj))
	if got, err := obj.Get(); err != nil || got.Name != "a" {
		t.Errorf("%v, %v", got, err)
	}
	packer.Pack(make([]byte, 64<<10))
	if got := packer.Pack([]byte("abc")); string(got) != "abc" {
		t.Errorf("3 bytes become %q", got)
	}
}

func pods(t *testing.T, packer lazy.Packer) (all []*lazy.Object[*pod]) {
	t.Helper()
	encoding, err := lazy.New[*pod](lazy.Options{Packer: packer})
	must.OK(t, err)
	unmarshal, err := encoding.Unmarshaler(reflect.TypeFor[*lazy.Object[*pod]](), format.Options{Drop: [][]string{{"metadata", "managedFields"}}})
	must.OK(t, err)
	for _, item := range podlist.Items(t) {
		var obj *lazy.Object[*pod]
		must.OK(t, unmarshal(item, &obj))
		all = append(all, obj)
	}
	return all
}

func ExampleNew() {
	encoding, err := lazy.New[*pod](lazy.Options{Packer: zstd.New()})
	fmt.Println(encoding.MediaType(), err) // it is an Encoding for listwatch.Options
	// Output: application/json <nil>
}
