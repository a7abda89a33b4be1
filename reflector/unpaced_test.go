package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

// refusing is a server that answers each request at once with an error. It ends the test after 10,000.
type refusing struct {
	requests atomic.Int64
	enough   func()
}

var errRefusing = errors.New("refused")

func (s *refusing) refuse() error {
	if s.requests.Add(1) == 10_000 {
		s.enough()
	}
	return errRefusing
}

func (s *refusing) List(context.Context, metav1.ListOptions) (*listwatch.Page[string], error) {
	return nil, s.refuse()
}

func (s *refusing) Watch(context.Context, metav1.ListOptions) (listwatch.Watch[string], error) {
	return nil, s.refuse()
}

// Without pauses a server that refuses at once must not keep a processor busy for ever.
func TestNoPausesStillMeansFewerThan500RequestsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		server := &refusing{enough: cancel}
		r := New[string](server, &notes{}, Options{BackoffBase: -1, BackoffCap: -1})
		began := time.Now()
		if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 20*time.Second {
			t.Errorf("%d requests in %v, want no more than 500 a second", server.requests.Load(), took)
		}
	})
}
