package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/test/conformance/peers/digest"
)

const (
	resource  = "configmaps"
	namespace = "default"

	// beatPeriod is the time between two writes. They go on before, during and after a fault, so
	// that a client can be seen to follow.
	beatPeriod = time.Second
)

// state is what the server held from a moment on.
type state struct {
	at   time.Time
	line string // see package digest
}

// world is a server, what was written to it, and who asked it for what.
type world struct {
	server *apitest.Server

	mu      sync.Mutex // guards the writing
	beats   int
	changes int
	states  []state

	log requestLog
}

func newWorld() (*world, error) {
	w := &world{}
	w.server = apitest.New(apitest.Options{Log: w.log.add, ResourceVersion: 1000})
	err := w.write(func() error {
		for i := range 30 {
			if err := w.create(fmt.Sprintf("settings-%02d", i), 0); err != nil {
				return err
			}
		}
		return w.create("beat", 0)
	})
	if err != nil {
		return nil, errors.Join(err, w.server.Close())
	}
	return w, nil
}

// write changes the server, and remembers what it holds then. Nothing else is written meanwhile.
func (w *world) write(change func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now() // a client may be faster than the next lines
	if err := change(); err != nil {
		return err
	}
	items, _, err := w.server.List(resource, "")
	if err != nil {
		return err
	}
	objects := make([]digest.Object, 0, len(items))
	for _, item := range items {
		meta, _ := item["metadata"].(map[string]any)
		o := digest.Object{Data: map[string]string{}}
		o.Namespace, _ = meta["namespace"].(string)
		o.Name, _ = meta["name"].(string)
		data, _ := item["data"].(map[string]any) // poison has none
		for key, value := range data {
			o.Data[key], _ = value.(string)
		}
		objects = append(objects, o)
	}
	w.states = append(w.states, state{at, digest.Line(objects)})
	return nil
}

// history returns what the server has held so far.
func (w *world) history() []state {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.states[:len(w.states):len(w.states)]
}

// beat makes one write, for which there is no reason but that time passes.
func (w *world) beat() error {
	return w.write(func() error {
		w.beats++
		return w.patch("beat", w.beats)
	})
}

// change makes one write of each kind: whoever does not hear of them holds an old object, one that
// is gone, and one that was deleted and made again, and lacks a new one.
func (w *world) change() error {
	return w.write(func() error {
		w.changes++
		n := w.changes
		again := fmt.Sprintf("settings-%02d", 10+n%10)
		return errors.Join(
			w.patch(fmt.Sprintf("settings-%02d", n%10), n),
			w.create(fmt.Sprintf("new-%02d", n), n),
			w.remove(fmt.Sprintf("settings-%02d", 30-n)),
			w.remove(again),
			w.create(again, n),
		)
	})
}

func (w *world) create(name string, n int) error {
	return w.createWith(name, map[string]any{"n": fmt.Sprint(n)})
}

func (w *world) createWith(name string, data any) error {
	_, err := w.server.Create(resource, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"data":     data,
	})
	return err
}

func (w *world) patch(name string, n int) error {
	_, err := w.server.Patch(resource, namespace, name, map[string]any{"data": map[string]any{"n": fmt.Sprint(n)}})
	return err
}

func (w *world) remove(name string) error {
	_, err := w.server.Delete(resource, namespace, name)
	return err
}

type requestLog struct {
	mu    sync.Mutex
	begun []time.Time     // when each request began, in no order
	open  map[watchID]int // watches that have been answered and have not ended
	proto string          // that of the last watch
}

// watchID says that two entries are of one watch.
type watchID struct {
	begin       time.Time
	uri, remote string
}

// add is told of each request at its end, and of a watch also when it is answered.
func (l *requestLog) add(r apitest.LoggedRequest) {
	if strings.HasPrefix(r.URI, faultsPath) {
		return // a fault of ours is no request of the client
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(r.URI, "watch=") {
		l.proto = r.Proto
	}
	id := watchID{r.Begin, r.URI, r.Remote}
	switch {
	case r.Began:
		if l.open == nil {
			l.open = make(map[watchID]int)
		}
		l.open[id]++
		l.begun = append(l.begun, r.Begin)
	case l.open[id] > 1:
		l.open[id]--
	case l.open[id] == 1:
		delete(l.open, id)
	default:
		l.begun = append(l.begun, r.Begin)
	}
}

// between returns the number of requests that were answered and began between two moments.
func (l *requestLog) between(from, to time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.begun {
		if !at.Before(from) && !at.After(to) {
			n++
		}
	}
	return n
}

func (l *requestLog) first() (at time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.begun) == 0 {
		return at, false
	}
	return slices.MinFunc(l.begun, time.Time.Compare), true
}

// watches returns the number of watches that are open, and the protocol that the client speaks.
func (l *requestLog) watches() (n int, proto string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open), l.proto
}
