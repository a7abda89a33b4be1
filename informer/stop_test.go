package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/store"
)

// difficult is a server that does not answer some requests, or refuses them.
type difficult struct {
	*fake
	stuckList, stuckWatch, refuses bool
}

func (f *difficult) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.Page[*thing], error) {
	if f.stuckList {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.refuses {
		return nil, apierrors.NewTooManyRequests("go away", 30)
	}
	return f.fake.List(ctx, opts)
}

func (f *difficult) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Watch[*thing], error) {
	if f.stuckWatch {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.fake.Watch(ctx, opts)
}

// Wherever an informer is when its context ends, Run returns at once: the clock of the bubble does not move. It waits for
// code of the program's own, and for nothing else; then nothing is left, neither a goroutine, without which the bubble
// could not end, nor a callback.
func TestStopIsAtOnceWhereverItIs(t *testing.T) {
	tests := []struct {
		name   string
		server difficult
		busy   string // the code of the program's own that has not returned
	}{
		{name: "listing", server: difficult{stuckList: true}},
		{name: "waiting to list again", server: difficult{refuses: true}},
		{name: "opening a watch", server: difficult{stuckWatch: true}},
		{name: "watching"},
		{name: "in a callback, with others pending", busy: "callback"},
		{name: "in an index function, with others queued", busy: "index"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				hold := func(where string) {
					if test.busy == where {
						<-release
					}
				}
				test.server.fake = newFake("a", "b", "c")
				index := func(*thing) []string { hold("index"); return nil }
				in := informer.New(&test.server, informer.Options[*thing]{Logger: silent, Indexers: store.Indexers[*thing]{"x": index}})
				callbacks := 0
				reg, err := in.AddHandler(informer.Handler[*thing]{OnAdd: func(*thing, bool) { callbacks++; hold("callback") }})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := inBackground(func() error { return in.Run(ctx) })
				synctest.Wait()
				cancel()
				synctest.Wait()
				if test.busy != "" {
					if len(done) > 0 {
						t.Fatalf("Run has returned, and the %s has not", test.busy)
					}
					close(release)
					synctest.Wait()
				}
				if len(done) == 0 || !closed(reg.Done()) {
					t.Fatal("Run goes on")
				}
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("Run returned %v, want %v", err, context.Canceled)
				}
				before := callbacks // what was applied last may have been told, too
				test.server.set("a", 1)
				synctest.Wait()
				if callbacks != before {
					t.Errorf("%d callbacks after Run returned", callbacks-before)
				}
			})
		})
	}
}
