package informer_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/store"
)

// The store's version is never ahead of what has been applied. Each object is made at a version of its own, and a bookmark
// follows it; an index function, which runs before an object is applied, looks at what the store says it has already.
// Real goroutines: the consumer has to take entries while a bookmark is being noted.
func TestVersionIsNotAhead(t *testing.T) {
	const objects = 3000
	for range 10 {
		f := newFake()
		var in *informer.Informer[*thing]
		ahead := 0
		look := func(obj *thing) []string {
			if number(in.Store().ResourceVersion()) >= number(obj.ResourceVersion) {
				ahead++
			}
			return nil
		}
		in = informer.New(f, informer.Options[*thing]{Indexers: store.Indexers[*thing]{"look": look}})
		ctx, stop := context.WithCancel(t.Context())
		last := fmt.Sprint(objects - 1)
		_, err := in.AddHandler(informer.Handler[*thing]{OnAdd: onNamed(last, stop)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- in.Run(ctx) }()
		<-in.Synced()
		for i := range objects {
			f.set(fmt.Sprint(i), 0)
			f.bookmark()
		}
		<-done
		if ahead > 0 {
			t.Fatalf("the store was ahead of %d of %d objects", ahead, objects)
		}
	}
}

func number(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}
