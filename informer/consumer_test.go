package informer

import (
	"context"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/object"
)

// consume runs the consumer of an informer, without a reflector, until stop is called.
func consume[T object.Object](t *testing.T, in *Informer[T]) (stop func()) {
	c := consumer[T]{cache: in.cache, from: in}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.run(ctx, ctx); close(done) }()
	return func() {
		cancel()
		<-done
		c.stop(ctx)
	}
}

// Only marks move the store's version, and no object does: one that was asked for out of turn may be ahead of others, and a
// list may have it at a version that the watch has yet to reach.
func TestObjectsDoNotMoveTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := New[*metav1.PartialObjectMetadata](nil, Options[*metav1.PartialObjectMetadata]{})
		defer consume(t, in)()
		object := func(name, version string) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
		}
		for _, step := range []struct {
			name string
			do   func() error
			want string
		}{
			{"a list", func() error {
				defer in.queue.Mark("5")
				return in.queue.Replace([]*metav1.PartialObjectMetadata{object("a", "3"), object("b", "7")}, "5")
			}, "5"},
			{"an object that is ahead", func() error { return in.queue.Update(object("a", "9")) }, "5"},
			{"another", func() error { return in.queue.Add(object("c", "10")) }, "5"},
			{"the watch", func() error {
				defer in.queue.Mark("8")
				return in.queue.Update(object("b", "8"))
			}, "8"},
			{"a deletion", func() error {
				defer in.queue.Mark("9")
				return in.queue.Delete(object("b", "9"))
			}, "9"},
			{"a bookmark", func() error { in.queue.Mark("12"); return nil }, "12"},
			{"a list of a server that rolled back", func() error {
				defer in.queue.Mark("4")
				return in.queue.Replace([]*metav1.PartialObjectMetadata{object("a", "3")}, "4")
			}, "4"},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := in.Store().ResourceVersion(); got != step.want {
				t.Errorf("after %s the store is at %s, want %s", step.name, got, step.want)
			}
		}
	})
}
