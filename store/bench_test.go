package store_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// benchObjects are 100,000 objects in the order of a list.
func benchObjects() (objects []*testObject, keys []string) {
	for i := range 100_000 {
		obj := newObject(fmt.Sprintf("namespace-%03d", i/1000), fmt.Sprintf("object-%05d", i), strconv.Itoa(i+1))
		objects, keys = append(objects, obj), append(keys, object.Key(obj))
	}
	return objects, keys
}

func benchStore(b *testing.B, indexers store.Indexers[*testObject]) (s *store.Store[*testObject], objects []*testObject, keys []string) {
	objects, keys = benchObjects()
	s = store.New(store.Options[*testObject]{Indexers: indexers})
	must(b, s.Replace(objects, "1"))
	b.ReportAllocs()
	return s, objects, keys
}

// stride visits every object in an order that no cache likes: it is prime to 100,000.
const stride = 61_803

func BenchmarkStoreGet(b *testing.B) {
	s, _, keys := benchStore(b, nil)
	i := 0
	for b.Loop() {
		s.Get(keys[i])
		i = (i + stride) % len(keys)
	}
}

func BenchmarkStoreUpdate(b *testing.B) {
	byNamespace := func(obj *testObject) []string { return []string{obj.Namespace} }
	for _, indexers := range []store.Indexers[*testObject]{nil, {"namespace": byNamespace}} {
		b.Run(fmt.Sprintf("indexes=%d", len(indexers)), func(b *testing.B) {
			s, objects, _ := benchStore(b, indexers)
			i := 0
			for b.Loop() {
				must(b, s.Update(objects[i]))
				i = (i + stride) % len(objects)
			}
		})
	}
}

func BenchmarkStoreList(b *testing.B) {
	s, _, _ := benchStore(b, nil)
	for b.Loop() {
		s.List()
	}
}

func BenchmarkStoreReplace(b *testing.B) {
	s, objects, _ := benchStore(b, nil)
	for b.Loop() {
		must(b, s.Replace(objects, "1"))
	}
}

func BenchmarkStoreSnapshot(b *testing.B) {
	s, _, _ := benchStore(b, nil)
	for b.Loop() {
		s.Snapshot()
	}
}
