package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// Options of a [Lease].
type Options struct {
	// Namespace and Name are those of the object of coordination.k8s.io/v1. The processes that
	// share one work name the same. The first of them creates it.
	Namespace, Name string

	// Duration is how long the others wait after the last renewal of a process that has died. A
	// leader stops after two thirds of it without a renewal, and renews after a sixth. It is
	// rounded up to seconds. If zero, 15 s are used, as in client-go.
	Duration time.Duration

	// Logger is told at Info when this process becomes the leader and when it gives up the lease,
	// and at Warn when it loses the lease and when requests begin to fail. If nil, slog.Default()
	// is used.
	Logger *slog.Logger
}

const defaultDuration = 15 * time.Second

// Lease is this process among those that share a Lease object. [New] makes one for all controllers
// of the program.
type Lease struct {
	key      string
	identity string
	duration time.Duration
	log      *slog.Logger
	get      *listwatch.Client[*record]
	writer   *writer.Writer[*record]

	// Tests set the clocks and the dice. steady does not run while the machine sleeps, and wall can
	// be set.
	now  func() (steady, wall time.Time)
	rand func() float64

	mu     sync.Mutex
	latest *election // nil before the first Lead
}

// New returns a Lease. It sends no request.
func New(client *transport.Client, opts Options) (*Lease, error) {
	switch {
	case opts.Namespace == "" || opts.Name == "":
		return nil, errors.New("lease: set the Namespace and the Name of the Lease")
	case opts.Duration < 0:
		return nil, fmt.Errorf("lease: the Duration is %v: use a positive one, or 0 for %v", opts.Duration, defaultDuration)
	case opts.Duration == 0:
		opts.Duration = defaultDuration
	}
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	typ := object.Type{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Kind: "Lease"}
	get, err := listwatch.New(client, typ.GroupVersionResource(), listwatch.Options[*record]{})
	if err != nil {
		return nil, err
	}
	writes, err := writer.New[*record](client, typ, writer.Options{})
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname() // in a pod, the name of the pod
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	return &Lease{
		key:      opts.Namespace + "/" + opts.Name,
		identity: host + "_" + rand.Text(),
		duration: (opts.Duration + time.Second - 1).Truncate(time.Second),
		log:      opts.Logger,
		get:      get,
		writer:   writes,
		now:      func() (steady, wall time.Time) { now := time.Now(); return now, now.Round(0) },
		rand:     mathrand.Float64,
	}, nil
}

// record has the fields of a Lease object.
type record struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Holder      string            `json:"holderIdentity"` // "" if the lease was released
		Seconds     int32             `json:"leaseDurationSeconds"`
		Acquired    *metav1.MicroTime `json:"acquireTime,omitempty"`
		Renewed     *metav1.MicroTime `json:"renewTime,omitempty"`
		Transitions int32             `json:"leaseTransitions"`
	} `json:"spec"`
}

// Lead waits until this process has the lease, and calls lead. The context that lead gets has the
// gate that the package comment describes, and ends when the process loses the lease. When lead has
// returned then, Lead waits for the lease again. If lead returns before, Lead returns what lead
// returned. When ctx has ended and lead has returned, Lead returns ctx.Err().
//
// Several calls of Lead share the lease. When the last of them is about to return, it releases the
// lease, so that another process takes it at once: but not while a write is under way.
func (l *Lease) Lead(ctx context.Context, lead func(ctx context.Context) error) error {
	e := l.join(ctx)
	defer l.leave(e)
	for {
		t, err := e.await(ctx)
		if err != nil {
			return err
		}
		over, err := t.call(ctx, lead)
		if !over {
			return err
		}
	}
}

// join returns the election that runs, and begins one if none does.
func (l *Lease) join(ctx context.Context) *election {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.latest; before == nil || before.leads == 0 {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // the first Lead may end before the others
		e := &election{Lease: l, stop: stop, done: make(chan struct{}), began: make(chan struct{}), idle: make(chan struct{})}
		go goexit.Do(func() {
			if before != nil {
				<-before.done // it may still be releasing the lease, in the name of this process, too
			}
			e.run(ctx)
		}, func(exited bool) {
			if exited {
				e.err = fmt.Errorf("lease %s: the Logger: %w", l.key, goexit.Err)
				e.finish(e.err)
			}
			close(e.done)
		})
		l.latest = e
	}
	l.latest.leads++
	return l.latest
}

// leave ends the election if nobody needs it, and waits for its end.
func (l *Lease) leave(e *election) {
	l.mu.Lock()
	e.leads--
	last := e.leads == 0
	l.mu.Unlock()
	if last {
		e.stop()
		<-e.done
	}
}
