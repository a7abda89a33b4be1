package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/store"
)

// Wherever an informer is when its context ends, Run returns at once: the clock of the bubble does
// not move. It waits for code of the program's own, and for nothing else; then nothing is left,
// neither a goroutine, without which the bubble could not end, nor a callback.
func TestStopIsAtOnceWhereverItIs(t *testing.T) {
	tests := []struct {
		name   string
		server func(*fake) // makes it difficult; nil if it is not
		busy   string      // the code of the program's own that has not returned
	}{
		{name: "listing", server: func(f *fake) { f.unanswered("list") }},
		{name: "waiting to list again", server: func(f *fake) { f.Fail(apierrors.NewTooManyRequests("go away", 30)) }},
		{name: "opening a watch", server: func(f *fake) { f.unanswered("watch") }},
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
				f := newFake("a", "b", "c")
				if test.server != nil {
					test.server(f)
				}
				index := func(*thing) []string { hold("index"); return nil }
				in := informer.New(f, informer.Options[*thing]{Logger: silent, Indexers: store.Indexers[*thing]{"x": index}})
				callbacks := 0
				reg, err := in.AddHandler(informer.Handler[*thing]{OnAdd: func(*thing, bool) { callbacks++; hold("callback") }})
				must.OK(t, err)
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
					t.Fatal("Run continues")
				}
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("Run returned %v, want %v", err, context.Canceled)
				}
				before := callbacks // what was applied last may have been told, too
				f.set("a", 1)
				synctest.Wait()
				if callbacks != before {
					t.Errorf("%d callbacks after Run returned", callbacks-before)
				}
			})
		})
	}
}
