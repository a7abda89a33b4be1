package store

import (
	"strconv"
	"sync"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Get takes no lock, so no writer and no list can hold it up.
func TestGetWaitsForNobody(t *testing.T) {
	s := New(Options[*metav1.ObjectMeta]{})
	if err := s.Add(&metav1.ObjectMeta{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj, ok := s.Get("a"); !ok || obj.Name != "a" {
		t.Errorf("Get(a) = %v, %v while a writer has the lock", obj, ok)
	}
}

// TestGetWhileOthersWrite has readers that ask for keys which stay and whose objects only get
// newer, while other keys come and go, so that the table grows, fills up with removed ones and
// shrinks, snapshots are taken and all is replaced.
func TestGetWhileOthersWrite(t *testing.T) {
	const (
		stay   = 20
		rounds = 30
	)
	s := New(Options[*metav1.ObjectMeta]{})
	object := func(i, version int) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: strconv.Itoa(i), Generation: int64(version)}
	}
	var list []*metav1.ObjectMeta
	for i := range stay {
		list = append(list, object(i, 0))
	}
	if err := s.Replace(list, ""); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var seen [stay]int64
			for i := 0; ; i = (i + 1) % stay {
				select {
				case <-done:
					return
				default:
				}
				obj, ok := s.Get(strconv.Itoa(i))
				if !ok || obj.Name != strconv.Itoa(i) || obj.Generation < seen[i] {
					t.Errorf("Get(%d) = %v, %v after generation %d", i, obj, ok, seen[i])
					return
				}
				seen[i] = obj.Generation
			}
		})
	}
	write := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for round := 1; round <= rounds; round++ {
		for i := range 300 {
			write(s.Add(object(stay+i, round)))
			write(s.Update(object(i%stay, 2*round)))
			if i%100 == 0 {
				s.Snapshot()
			}
		}
		for i := range 300 {
			write(s.Delete(object(stay+i, round)))
		}
		for i := range list {
			list[i] = object(i, 2*round+1)
		}
		write(s.Replace(list, ""))
	}
	close(done)
	readers.Wait()
	if s.Len() != stay {
		t.Errorf("%d objects are left, want %d", s.Len(), stay)
	}
}

// The key of an object without a namespace is its name: the same string, and no copy.
func TestNameIsTheKey(t *testing.T) {
	s := New(Options[*metav1.ObjectMeta]{})
	obj := &metav1.ObjectMeta{Name: strconv.Itoa(1000)}
	if err := s.Add(obj); err != nil {
		t.Fatal(err)
	}
	if key := s.Keys()[0]; unsafe.StringData(key) != unsafe.StringData(obj.Name) {
		t.Error("the store has a copy of the name")
	}
}

// An update of what is there makes room for one word.
func TestUpdateAllocatesOneWord(t *testing.T) {
	byFinalizer := func(obj *metav1.ObjectMeta) []string { return obj.Finalizers }
	s := New(Options[*metav1.ObjectMeta]{Indexers: Indexers[*metav1.ObjectMeta]{"finalizer": byFinalizer}})
	obj := &metav1.ObjectMeta{Namespace: "namespace", Name: "name", Finalizers: []string{"a", "b"}, ResourceVersion: "1"}
	if got := testing.AllocsPerRun(1000, func() { _ = s.Update(obj) }); got > 1 {
		t.Errorf("%v allocations for an update, want 1", got)
	}
}
