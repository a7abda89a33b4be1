package informer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// town is a server with a fake for each namespace.
type town struct {
	mu    sync.Mutex
	fakes map[string]*fake
}

func newTown(keys ...string) *town {
	s := &town{fakes: map[string]*fake{}}
	for _, key := range keys {
		s.set(key, 0)
	}
	return s
}

// in returns the fake of a namespace.
func (s *town) in(namespace string) *fake {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fakes[namespace] == nil {
		s.fakes[namespace] = newFake()
	}
	return s.fakes[namespace]
}

func (s *town) set(key string, value int) {
	namespace, _, _ := object.SplitKey(key)
	s.in(namespace).set(key, value)
}

func (s *town) open(namespace string) (source.ListWatcher[*thing], error) {
	if namespace == "forbidden" {
		return nil, errors.New("not that one")
	}
	return s.in(namespace), nil
}

// state is what the server has in some namespaces, by key.
func (s *town) state(namespaces ...string) []string {
	var all []string
	for _, namespace := range namespaces {
		all = append(all, s.in(namespace).state()...)
	}
	slices.Sort(all)
	return all
}

// multiRig is a MultiNamespace that runs in a synctest bubble against a town.
type multiRig struct {
	*informer.MultiNamespace[*thing]
	t    *testing.T
	town *town
	halt context.CancelFunc
	done chan error
}

func newMultiRig(t *testing.T, s *town, opts informer.Options[*thing]) *multiRig {
	t.Helper()
	opts.Reflector.Rand = func() float64 { return 0 }
	opts.Logger = silent
	return &multiRig{MultiNamespace: informer.NewMultiNamespace(s.open, opts), t: t, town: s, done: make(chan error, 1)}
}

func (r *multiRig) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.halt = cancel
	go func() { r.done <- r.Run(ctx) }()
	r.t.Cleanup(cancel)
	synctest.Wait()
}

func (r *multiRig) begin(namespaces ...string) {
	r.t.Helper()
	for _, namespace := range namespaces {
		if err := r.Add(namespace); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *multiRig) drop(namespace string) {
	r.t.Helper()
	if err := r.Remove(r.t.Context(), namespace); err != nil {
		r.t.Errorf("Remove returned %v", err)
	}
}

func (r *multiRig) handle(h informer.Handler[*thing]) *informer.Registration {
	r.t.Helper()
	reg, err := r.AddHandler(h)
	if err != nil {
		r.t.Fatal(err)
	}
	return reg
}

func (r *multiRig) agree(namespaces ...string) {
	r.t.Helper()
	synctest.Wait()
	got := describe(r.Store().List())
	slices.Sort(got)
	if want := r.town.state(namespaces...); !slices.Equal(got, want) {
		r.t.Errorf("store holds\n\t%q\nserver\n\t%q", got, want)
	}
}

// sorted makes lines of a diary comparable if their order is open.
func sorted(lines string) string {
	all := strings.Split(lines, "; ")
	slices.Sort(all)
	return strings.Join(all, "; ")
}
