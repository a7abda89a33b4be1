package writes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// scale is a ConfigMap whose "have" a controller brings to its "want", one by one. Others write
// "want" and "noise".
type scale struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

func (s *scale) number(name string) int {
	n, _ := strconv.Atoi(s.Data[name])
	return n
}

const (
	scales  = 8
	highest = 25
	// oneIn is how many writes of the controller come for one before which somebody else writes the
	// same object.
	oneIn = 5
)

// ledger is what the controller has written, across its restarts.
type ledger struct {
	t *testing.T

	mu         sync.Mutex
	written    map[string]string // by key, the version of the last write that was answered
	sure       map[string]string // by key, the version of the list that told what became of a write that was not answered
	attempts   int
	writes     int
	conflicts  int
	unanswered int
}

// attempt notes a write that is about to be made from a version of the object, which a store had
// when it had come to another version. It returns how many there were.
func (l *ledger) attempt(key, from, store string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts++
	if last := l.written[key]; object.Older(from, last) {
		l.t.Errorf("%s: a write is made from %s, and the last write made it %s", key, from, last)
	}
	if list := l.sure[key]; object.Older(store, list) {
		l.t.Errorf("%s: a write is made from a store at %s, and a list at %s told what became of the last write", key, store, list)
	}
	return l.attempts
}

// note keeps a version of a key.
func (l *ledger) note(versions map[string]string, key, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	versions[key] = object.Newer(version, versions[key])
}

func (l *ledger) add(count *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*count++
}

// scaler is the controller, with a cache of its own.
type scaler struct {
	*ledger
	cache   *informer.Informer[*scale]
	writes  *writer.Writer[*scale]
	another *writer.Writer[*scale]

	mu     sync.Mutex
	unsure map[string]bool // keys with a write that was not answered
}

// reconcile takes one step for one object.
func (s *scaler) reconcile(ctx context.Context, key string) (time.Duration, error) {
	if err := s.makeSure(ctx, key); err != nil {
		return 0, err
	}
	at := s.cache.Store().ResourceVersion()
	has, exists := s.cache.Store().Get(key)
	if !exists || has.number("have") == has.number("want") {
		return 0, nil
	}
	next := has.number("have") + 1
	if has.number("have") > has.number("want") {
		next = has.number("have") - 1
	}
	if n := s.attempt(key, has.ResourceVersion, at); n%oneIn == 0 {
		if _, err := s.another.MergePatch(ctx, key, noise(n)); err != nil {
			return 0, err
		}
	}
	written, err := s.writes.MergePatch(ctx, key, map[string]any{
		"metadata": map[string]any{"resourceVersion": has.ResourceVersion},
		"data":     map[string]any{"have": strconv.Itoa(next)},
	})
	var answered apierrors.APIStatus
	switch {
	case apierrors.IsConflict(err):
		s.add(&s.conflicts)
		return 0, err
	case errors.As(err, &answered) && answered.Status().Code < 500:
		return 0, err
	case err != nil: // it may have been done
		s.add(&s.unanswered)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unsure[key] = true
		return 0, err
	}
	if written.number("have") != next {
		s.t.Errorf("%s: wrote %d, and the answer has %d", key, next, written.number("have"))
	}
	s.note(s.written, key, written.ResourceVersion)
	s.add(&s.ledger.writes)
	return 0, s.cache.WaitForVersion(ctx, written.ResourceVersion)
}

// makeSure brings the cache up to a write that was not answered, if it was made.
func (s *scaler) makeSure(ctx context.Context, key string) error {
	s.mu.Lock()
	unsure := s.unsure[key]
	s.mu.Unlock()
	if !unsure {
		return nil
	}
	if err := s.cache.Relist(ctx); err != nil {
		return err
	}
	s.note(s.sure, key, s.cache.Store().ResourceVersion())
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unsure, key)
	return nil
}

func noise(n int) map[string]any {
	return map[string]any{"data": map[string]any{"noise": strconv.Itoa(n)}}
}

func keyOf(i int) string { return fmt.Sprintf("default/scale-%d", i) }

// newScaler makes a controller, as its process does when it starts. Its first list is of the most
// recent state, because an older one may be before its own writes.
func newScaler(t *testing.T, c *cluster.Cluster, l *ledger) *scaler {
	t.Helper()
	client := newClient(t, c)
	list, err := listwatch.New(client, configMaps.GroupVersionResource(), listwatch.Options[*scale]{Namespace: "default"})
	must(t, err)
	writes, err := writer.New[*scale](client, configMaps, writer.Options{FieldManager: "scaler", Timeout: 10 * time.Second})
	must(t, err)
	cache := informer.New(list, informer.Options[*scale]{Logger: silent, Reflector: reflector.Options{Initial: reflector.Consistent}})
	return &scaler{ledger: l, cache: cache, writes: writes, another: newWriter[*scale](t, c, "another"), unsure: map[string]bool{}}
}

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

// start runs the controller until stop is called, which waits for its end.
func (s *scaler) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue := controller.NewQueue[string](controller.QueueOptions{BackoffCap: time.Second})
		err := controller.Run(ctx, s.reconcile, controller.Options{Workers: 4, Queue: queue, Logger: silent}, controller.For(s.cache))
		if !errors.Is(err, context.Canceled) {
			s.t.Errorf("the controller ended with %v", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// TestScalesByItsOwnWrites runs a controller that takes each step from the state that its last step
// has left, while others write the same objects, the controller and the server are restarted, and
// etcd forgets its past.
func TestScalesByItsOwnWrites(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	ctx := t.Context()
	others := newWriter[*scale](t, c, "others")
	want := func(salt int) {
		t.Helper()
		for i := range scales {
			_, err := others.MergePatch(ctx, keyOf(i), map[string]any{"data": map[string]any{"want": strconv.Itoa((i*7 + salt*11) % (highest + 1))}})
			must(t, err)
		}
	}
	for i := range scales {
		_, err := others.Create(ctx, &scale{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("scale-%d", i)}})
		must(t, err)
	}
	l := &ledger{t: t, written: map[string]string{}, sure: map[string]string{}}
	s := newScaler(t, c, l)
	stop := s.start(ctx)
	reached := func(n int) { // in the middle of the controller's work
		t.Helper()
		s.until(ctx, func() bool { return l.count() >= n })
	}

	want(1)
	reached(10)
	stop() // the controller's process goes, perhaps with a write on its way
	s = newScaler(t, c, l)
	stop = s.start(ctx)
	reached(25)

	must(t, c.KillAPIServer())
	must(t, c.Compact(ctx))
	must(t, c.StartAPIServer(ctx)) // the watch is refused with 410
	want(2)
	reached(l.count() + 20)

	stop()
	must(t, c.KillAPIServer())
	s = newScaler(t, c, l) // and comes back before the server
	stop = s.start(ctx)
	must(t, c.StartAPIServer(ctx))
	want(3)
	reached(l.count() + 10)
	must(t, c.Compact(ctx))
	want(4)

	for i := range scales {
		must(t, s.cache.WaitUntil(ctx, keyOf(i), func(has *scale, exists bool) bool {
			return exists && has.number("want") == (i*7+4*11)%(highest+1) && has.number("have") == has.number("want")
		}))
	}
	stop()
	for i := range scales {
		has, err := others.MergePatch(ctx, keyOf(i), []byte(`{}`))
		must(t, err)
		if has.number("have") != has.number("want") {
			t.Errorf("%s has %d and wants %d", keyOf(i), has.number("have"), has.number("want"))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Logf("%d attempts: %d writes, %d conflicts, %d not answered", l.attempts, l.writes, l.conflicts, l.unanswered)
	if l.writes < 60 || l.conflicts < l.attempts/oneIn/2 {
		t.Errorf("%d attempts made only %d writes and %d conflicts", l.attempts, l.writes, l.conflicts)
	}
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// until waits for a state of the ledger, which changes with the objects.
func (s *scaler) until(ctx context.Context, reached func() bool) {
	s.t.Helper()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for !reached() {
		select {
		case <-ctx.Done():
			s.t.Fatal("the controller has stopped writing")
		case <-ticks.C:
		}
	}
}
