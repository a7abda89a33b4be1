package store

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of an update and a delete that run at one time the one that ends later wins, in the store as in
// an index that is being added meanwhile: the update may have found the object there that is gone
// when it writes.
func TestUpdateMeetsDelete(t *testing.T) {
	const keys = 20_000
	s := New(Options[*metav1.ObjectMeta]{})
	write := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	write(s.Add(&metav1.ObjectMeta{Name: "first"}))
	began, end := make(chan struct{}), make(chan struct{})
	var adding sync.WaitGroup
	adding.Go(func() {
		write(s.AddIndexer("all", func(obj *metav1.ObjectMeta) []string {
			if obj.Name == "first" {
				close(began)
				<-end
			}
			return []string{"x"}
		}))
	})
	<-began
	updates := make(chan *metav1.ObjectMeta)
	var updating sync.WaitGroup
	updating.Go(func() {
		for obj := range updates {
			write(s.Update(obj))
		}
	})
	for i := range keys {
		obj := &metav1.ObjectMeta{Name: strconv.Itoa(i)}
		write(s.Add(obj))
		updates <- obj
		write(s.Delete(obj))
	}
	close(updates)
	updating.Wait()
	close(end)
	adding.Wait()
	indexed, err := s.ByIndex("all", "x")
	if err != nil {
		t.Fatal(err)
	}
	if list := s.List(); !slices.Equal(list, indexed) {
		t.Errorf("the store has %d objects, and the index %d", len(list), len(indexed))
	}
}
