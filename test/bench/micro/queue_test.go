package micro

import (
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// A queue holds the functions of a queue under test. pop takes one entry. The queue knows the consumer's store.
type queue struct {
	add     func(partial) error
	update  func(partial) error
	replace func([]partial) error
	pop     func() error
	store   func(partial) // what a consumer does with an object
}

// queues are the queues that are compared.
var queues = []struct {
	name string
	make func(b *testing.B) queue
}{
	{"relist", relistQueue},
	{"DeltaFIFO", func(b *testing.B) queue {
		known := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
		return clientGoQueue(b, known, cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true}))
	}},
	{"RealFIFO", func(b *testing.B) queue {
		known := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
		return clientGoQueue(b, known, cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: known}))
	}},
}

func relistQueue(b *testing.B) queue {
	known := store.New(store.Options[partial]{})
	q := deltafifo.New(deltafifo.Options[partial]{Known: known})
	process := func(deltafifo.Entry[partial]) error { return nil }
	return queue{
		add:     q.Add,
		update:  q.Update,
		replace: func(items []partial) error { return q.Replace(items, "1") },
		pop:     func() error { return q.Pop(b.Context(), process) },
		store:   func(obj partial) { _ = known.Add(obj) },
	}
}

// clientGoQueue hands a list over as client-go's reflector does, as a new slice of interfaces.
func clientGoQueue(_ *testing.B, known cache.Store, q cache.Queue) queue {
	process := func(any, bool) error { return nil }
	return queue{
		add:    func(obj partial) error { return q.Add(obj) },
		update: func(obj partial) error { return q.Update(obj) },
		replace: func(items []partial) error {
			list := make([]any, len(items))
			for i, obj := range items {
				list[i] = obj
			}
			return q.Replace(list, "1")
		},
		pop:   func() error { _, err := q.Pop(process); return err },
		store: func(obj partial) { _ = known.Add(obj) },
	}
}

// BenchmarkQueueAddPop adds one object to an empty queue and pops it: 10,000 objects in turn, as if a consumer keeps up
// with a watch, or always the same object, as if one object changes often.
func BenchmarkQueueAddPop(b *testing.B) {
	for _, keys := range []struct {
		name string
		n    int
	}{{"keys=10000", 10_000}, {"keys=1", 1}} {
		objects := makeObjects(keys.n)
		for _, impl := range queues {
			b.Run(keys.name+"/impl="+impl.name, func(b *testing.B) {
				q, i := impl.make(b), 0
				b.ReportAllocs()
				defer reportCPU(b)()
				for b.Loop() {
					must(b, q.add(objects[i]))
					must(b, q.pop())
					if i++; i == len(objects) {
						i = 0
					}
				}
			})
		}
	}
}

// BenchmarkQueueBurst adds 1,000 objects before it pops the first.
func BenchmarkQueueBurst(b *testing.B) {
	objects := makeObjects(1000)
	for _, impl := range queues {
		b.Run("impl="+impl.name, func(b *testing.B) {
			q := impl.make(b)
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				for _, obj := range objects {
					must(b, q.update(obj))
				}
				for range objects {
					must(b, q.pop())
				}
			}
		})
	}
}

// BenchmarkQueueReplace replaces with a list of 10,000 objects that the consumer knows, and pops until the queue is
// empty.
func BenchmarkQueueReplace(b *testing.B) {
	objects := makeObjects(10_000)
	for _, impl := range queues {
		b.Run("impl="+impl.name, func(b *testing.B) {
			q := impl.make(b)
			for _, obj := range objects {
				q.store(obj)
			}
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				must(b, q.replace(objects))
				for range objects {
					must(b, q.pop())
				}
			}
		})
	}
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}
