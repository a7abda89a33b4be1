package reflector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
)

// Without delays a server that refuses at once must not keep a processor busy forever.
func TestNoDelaysStillMeansFewerThan500RequestsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const enough = 10_000
		requests := 0
		refuse := func() error { // a reflector asks for one thing at a time here
			if requests++; requests == enough {
				cancel()
			}
			return errors.New("refused")
		}
		server := source.Funcs[string]{
			ListFunc:  func(context.Context, metav1.ListOptions) (*source.Page[string], error) { return nil, refuse() },
			WatchFunc: func(context.Context, metav1.ListOptions) (source.Watch[string], error) { return nil, refuse() },
		}
		r := New(server, &notes{}, Options{BackoffBase: -1, BackoffCap: -1})
		began := time.Now()
		if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 20*time.Second {
			t.Errorf("%d requests in %v, want no more than 500 a second", requests, took)
		}
	})
}
