package micro

import (
	"sync"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// large is the number of objects of the stores.
const large = 100_000

// A mirror is what a benchmark drives: relist's store, or client-go's ThreadSafeStore as an informer wraps it.
type mirror struct {
	replace func([]partial) error
	update  func(partial) error
	get     func(key string) bool
	list    func() int
	byIndex func(value string) int
}

const nodeIndex = "node"

func node(obj partial) []string { return []string{obj.Labels["node"]} }

var mirrors = []struct {
	name string
	make func(indexed bool) mirror
}{
	{"relist", func(indexed bool) mirror {
		var indexers store.Indexers[partial]
		if indexed {
			indexers = store.Indexers[partial]{nodeIndex: node}
		}
		s := store.New(store.Options[partial]{Indexers: indexers})
		return mirror{
			replace: func(items []partial) error { return s.Replace(items, "1") },
			update:  s.Update,
			get:     func(key string) bool { _, ok := s.Get(key); return ok },
			list:    func() int { return len(s.List()) },
			byIndex: func(value string) int { found, _ := s.ByIndex(nodeIndex, value); return len(found) },
		}
	}},
	{"ThreadSafeStore", func(indexed bool) mirror {
		indexers := cache.Indexers{}
		if indexed {
			indexers[nodeIndex] = func(obj any) ([]string, error) { return node(obj.(partial)), nil }
		}
		s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
		return mirror{
			replace: func(items []partial) error {
				list := make([]any, len(items))
				for i, obj := range items {
					list[i] = obj
				}
				return s.Replace(list, "1")
			},
			update:  func(obj partial) error { return s.Update(obj) },
			get:     func(key string) bool { _, ok, _ := s.GetByKey(key); return ok },
			list:    func() int { return len(s.List()) },
			byIndex: func(value string) int { found, _ := s.ByIndex(nodeIndex, value); return len(found) },
		}
	}},
}

// eachMirror runs a benchmark with each, filled.
func eachMirror(b *testing.B, name string, indexed bool, run func(*testing.B, mirror, []partial)) {
	objects := makeObjects(large)
	if name != "" {
		name += "/"
	}
	for _, impl := range mirrors {
		b.Run(name+"impl="+impl.name, func(b *testing.B) {
			m := impl.make(indexed)
			must(b, m.replace(objects))
			b.ReportAllocs()
			defer reportCPU(b)()
			run(b, m, objects)
		})
	}
}

// BenchmarkStoreReplace is a list of 100,000 objects.
func BenchmarkStoreReplace(b *testing.B) {
	replace := func(b *testing.B, m mirror, objects []partial) {
		for b.Loop() {
			must(b, m.replace(objects))
		}
	}
	eachMirror(b, "indexed=no", false, replace)
	eachMirror(b, "indexed=yes", true, replace)
}

// BenchmarkStoreUpdate is one object of 100,000.
func BenchmarkStoreUpdate(b *testing.B) {
	update := func(b *testing.B, m mirror, objects []partial) {
		i := 0
		for b.Loop() {
			must(b, m.update(objects[i]))
			i = (i + 7919) % len(objects)
		}
	}
	eachMirror(b, "indexed=no", false, update)
	eachMirror(b, "indexed=yes", true, update)
}

// BenchmarkStoreGet is by one reader, while nobody writes and while somebody does: 64 updates for every 4,096 Gets, so that
// each store has the same to do and the CPU time can be compared. A writer without any pause would be stopped by the readers
// of one store and not by those of the other, and take the processor from them.
func BenchmarkStoreGet(b *testing.B) {
	get := func(b *testing.B, m mirror, objects []partial, each4096 func()) {
		keys := make([]string, 0, 4096)
		for i := range cap(keys) {
			keys = append(keys, object.Key(objects[i*7919%len(objects)]))
		}
		i := 0
		for b.Loop() {
			if !m.get(keys[i]) {
				b.Fatal("not found")
			}
			i = (i + 1) % len(keys)
			if i == 0 {
				each4096()
			}
		}
	}
	eachMirror(b, "writers=0", false, func(b *testing.B, m mirror, objects []partial) { get(b, m, objects, func() {}) })
	eachMirror(b, "writers=1", false, func(b *testing.B, m mirror, objects []partial) {
		write, stop := writer(m, objects)
		defer stop()
		get(b, m, objects, write)
	})
}

// BenchmarkStoreGetTogether is by as many readers as there are processors, while nobody writes.
func BenchmarkStoreGetTogether(b *testing.B) {
	eachMirror(b, "", false, func(b *testing.B, m mirror, objects []partial) {
		key := object.Key(objects[0])
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if !m.get(key) {
					b.Error("not found")
				}
			}
		})
	})
}

// writer returns what makes another goroutine update 64 objects, and what ends that.
func writer(m mirror, objects []partial) (write, stop func()) {
	turns := make(chan struct{}, 1024)
	var wg sync.WaitGroup
	wg.Go(func() {
		i := 0
		for range turns {
			for range 64 {
				_ = m.update(objects[i])
				i = (i + 7919) % len(objects)
			}
		}
	})
	return func() { turns <- struct{}{} }, func() { close(turns); wg.Wait() }
}

// BenchmarkStoreList is all 100,000 objects.
func BenchmarkStoreList(b *testing.B) {
	eachMirror(b, "", false, func(b *testing.B, m mirror, objects []partial) {
		for b.Loop() {
			if n := m.list(); n != len(objects) {
				b.Fatalf("%d objects", n)
			}
		}
	})
}

// BenchmarkStoreByIndex is 2,000 objects of 100,000.
func BenchmarkStoreByIndex(b *testing.B) {
	eachMirror(b, "", true, func(b *testing.B, m mirror, _ []partial) {
		for b.Loop() {
			if n := m.byIndex("node-07"); n != large/50 {
				b.Fatalf("%d objects", n)
			}
		}
	})
}
