package simulation

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// mirror is a reflector over HTTP with its queue, and a consumer that writes a ledger.
type mirror struct {
	t     *testing.T
	store *store.Store[*configMap]
	queue *deltafifo.Queue[*configMap]
	*reflector.Reflector[*configMap]

	stop     context.CancelFunc
	done     chan error
	consumer sync.WaitGroup

	changed chan struct{} // has a token when an entry was processed since

	mu     sync.Mutex
	ledger *ledger
}

// startMirror starts one, and stops it when the test has ended.
func startMirror(t *testing.T, lw source.ListWatcher[*configMap], opts reflector.Options) *mirror {
	t.Helper()
	m := &mirror{t: t, store: store.New(store.Options[*configMap]{}), ledger: newLedger(), changed: make(chan struct{}, 1)}
	m.queue = deltafifo.New(deltafifo.Options[*configMap]{Known: m.store})
	m.Reflector = reflector.New(lw, reflector.InQueue(m.queue), opts)
	m.consumer.Go(func() {
		for {
			err := m.queue.Pop(context.Background(), m.process)
			if errors.Is(err, deltafifo.ErrClosed) {
				return
			}
			if err != nil {
				t.Errorf("consume an entry: %v", err)
			}
		}
	})
	m.start()
	t.Cleanup(func() {
		m.halt()
		m.queue.Close()
		m.consumer.Wait()
	})
	return m
}

func (m *mirror) start() {
	ctx, cancel := context.WithCancel(context.Background())
	m.stop, m.done = cancel, make(chan error, 1)
	go func(done chan<- error) { done <- m.Run(ctx) }(m.done)
}

func (m *mirror) halt() {
	m.stop()
	if err := <-m.done; err != nil && !errors.Is(err, context.Canceled) {
		panic(err) // nothing else ends a reflector
	}
}

func (m *mirror) process(e deltafifo.Entry[*configMap]) error {
	for _, d := range e.Deltas {
		version, err := strconv.ParseUint(d.Object.ResourceVersion, 10, 64)
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.ledger.write(d.Type, d.Tombstone != nil, e.Key, item{d.Object.UID, version})
		m.mu.Unlock()
		if d.Type == deltafifo.Deleted {
			err = m.store.Delete(d.Object)
		} else {
			err = m.store.Update(d.Object)
		}
		if err != nil {
			return err
		}
	}
	select {
	case m.changed <- struct{}{}:
	default: // there is one already
	}
	return nil
}

// told returns the number of deltas so far, and of inferred deletions.
func (m *mirror) told() (deltas, inferred int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.deltas, m.ledger.inferred
}

// checkHistory fails the test for each thing that cannot have been.
func (m *mirror) checkHistory() {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, broken := range m.ledger.broken {
		m.t.Error(broken)
	}
}

// equals reports whether the copy is what the server has.
func (m *mirror) equals(s *apitest.Server) bool {
	items, _, err := s.List("configmaps", "")
	if err != nil {
		m.t.Fatal(err)
	}
	if len(items) != m.store.Len() || m.queue.Len() > 0 {
		return false
	}
	for _, want := range items {
		meta := want["metadata"].(map[string]any)
		got, ok := m.store.Get(meta["namespace"].(string) + "/" + meta["name"].(string))
		if !ok || got.ResourceVersion != meta["resourceVersion"] || string(got.UID) != meta["uid"] {
			return false
		}
	}
	return true
}

// settle waits, in a bubble, until the copy is what the server has.
func (m *mirror) settle(s *apitest.Server, most time.Duration) {
	m.t.Helper()
	for began := time.Now(); !m.equals(s); <-time.After(time.Second) {
		if time.Since(began) > most {
			m.t.Fatalf("the copy is not what the server has after %s: %+v", most, m.Status())
		}
	}
}

// named returns a ConfigMap for apitest.
func named(name string, data map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "default", "name": name},
		"data":     data,
	}
}
