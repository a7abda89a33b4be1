package deltafifo_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// BenchmarkQueueAddPop adds and pops one object, with an otherwise empty queue and with a
// thousand keys waiting.
func BenchmarkQueueAddPop(b *testing.B) {
	for _, depth := range []int{1, 1000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			objects := make([]*metav1.PartialObjectMetadata, depth)
			for i := range objects {
				objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: fmt.Sprintf("object-%05d", i), UID: "u", ResourceVersion: "1",
				}}
			}
			known := store.New(store.Options[*metav1.PartialObjectMetadata]{})
			q := deltafifo.New(deltafifo.Options[*metav1.PartialObjectMetadata]{Known: known})
			process := func(deltafifo.Entry[*metav1.PartialObjectMetadata]) error { return nil }
			for _, obj := range objects[1:] {
				if err := q.Add(obj); err != nil {
					b.Fatal(err)
				}
			}
			ctx, i := context.Background(), 0
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Add(objects[i]); err != nil {
					b.Fatal(err)
				}
				if err := q.Pop(ctx, process); err != nil {
					b.Fatal(err)
				}
				if i++; i == depth {
					i = 0
				}
			}
		})
	}
}

// BenchmarkQueueCoalesce updates an object that waits already.
func BenchmarkQueueCoalesce(b *testing.B) {
	q := deltafifo.New(deltafifo.Options[*metav1.PartialObjectMetadata]{Coalesce: true})
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "object"}}
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Update(obj); err != nil {
			b.Fatal(err)
		}
	}
}
