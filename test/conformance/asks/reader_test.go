package asks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/test/conformance/line"
	"github.com/relist-go/relist/transport"
)

type named interface{ object.Object }

// reader is a copy of the resource of a case, made with the user's rights, and the line that
// it goes through.
type reader[T named] struct {
	t      *testing.T
	c      *testCase
	line   *line.Line
	source *reflector.Reflector[T]
	sink   *diary[T]

	mu      sync.Mutex
	refused map[string]bool // names that the transform fails for
}

// follow copies the resource of a case until the test ends.
func follow[T named](o objects, encoding listwatch.Encoding) *reader[T] {
	o.t.Helper()
	r := &reader[T]{t: o.t, c: o.testCase, line: line.New(roundTripper(o.t, o.cluster))}
	client, err := transport.NewClient(transport.Config{
		Server:       o.cluster.Access().URL,
		BearerToken:  o.cluster.Access().AdminToken,
		Impersonate:  transport.Impersonation{User: o.user},
		RoundTripper: r.line,
	})
	must(o.t, err)
	o.t.Cleanup(client.Close)
	lw, err := listwatch.New(client, o.gvr, listwatch.Options[T]{
		Namespace: o.within, LabelSelector: o.labels, FieldSelector: o.fields, Encoding: encoding, Transform: r.transform,
	})
	must(o.t, err)
	r.sink = &diary[T]{Store: store.New(store.Options[T]{}), more: make(chan struct{}), changes: map[string][]string{}}
	var problems []string
	r.source = reflector.New(lw, reflector.InQueue[T](r.sink), reflector.Options{
		Rand: func() float64 { return 0 },
		Trace: &reflector.Trace{Problem: func(p reflector.Problem) {
			problems = append(problems, fmt.Sprintf("%v %s: %v", p.Class, p.Key, p.Err))
		}},
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(o.t.Context()))
	var group sync.WaitGroup
	group.Go(func() { _ = r.source.Run(ctx) })
	o.t.Cleanup(func() {
		stop()
		group.Wait()
		if o.t.Failed() {
			o.t.Logf("problems:\n%s", strings.Join(problems, "\n"))
			for _, req := range r.line.Requests() {
				o.t.Logf("%s %s %v", req.Method, req.Path, req.Query)
			}
		}
	})
	r.await("the first list and its watch", func(s reflector.Status) bool { return s.State == reflector.Watching })
	return r
}

var errRefused = errors.New("the transform does not work for this one")

func (r *reader[T]) transform(obj T) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[obj.GetName()] {
		var none T
		return none, errRefused
	}
	return obj, nil
}

// refuse has the transform fail for these objects, and no others, from now on.
func (r *reader[T]) refuse(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = map[string]bool{}
	for _, name := range names {
		r.refused[name] = true
	}
}

// await waits until the status of the reflector is as it should be.
func (r *reader[T]) await(what string, holds func(reflector.Status) bool) {
	r.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(r.source.Status()); <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not within %v; the status is %+v", what, patience, r.source.Status())
		}
	}
}

// awaitQuarantine waits until these objects, and no others, are set aside.
func (r *reader[T]) awaitQuarantine(names ...string) {
	r.t.Helper()
	want := map[string]bool{}
	for _, name := range names {
		want[r.c.key(name)] = true
	}
	r.await(fmt.Sprintf("%q in quarantine", names), func(s reflector.Status) bool {
		got := map[string]bool{}
		for _, q := range s.Quarantined {
			got[q.Meta.Key] = true
		}
		return maps.Equal(got, want)
	})
}

// awaitHeld waits until the copy has these versions of the case's objects.
func (r *reader[T]) awaitHeld(want map[string]string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		more := r.sink.grows()
		got := r.held()
		if maps.Equal(got, want) {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			r.t.Fatalf("the copy has %v, want %v", got, want)
		}
	}
}

// held is which versions the copy has of the case's objects.
func (r *reader[T]) held() map[string]string {
	versions := map[string]string{}
	for key, obj := range r.sink.All() {
		if r.c.owns(obj.GetName()) {
			versions[key] = obj.GetResourceVersion()
		}
	}
	return versions
}

// changes is what the sink was told of a key after the first list.
func (r *reader[T]) changes(key string) []string {
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	return r.sink.changes[key]
}

// diary is a store that writes down what it is told of each key.
type diary[T named] struct {
	*store.Store[T]

	mu      sync.Mutex
	changes map[string][]string
	more    chan struct{} // closed and replaced with each change
}

func (d *diary[T]) note(obj T, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := object.Key(obj)
	d.changes[key] = append(d.changes[key], what)
	close(d.more)
	d.more = make(chan struct{})
}

// grows returns a channel that is closed with the next change.
func (d *diary[T]) grows() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.more
}

func (d *diary[T]) Add(obj T) error {
	err := d.Store.Add(obj)
	d.note(obj, "add "+obj.GetResourceVersion())
	return err
}

func (d *diary[T]) Update(obj T) error {
	err := d.Store.Update(obj)
	d.note(obj, "update "+obj.GetResourceVersion())
	return err
}

func (d *diary[T]) Delete(obj T) error {
	err := d.Store.Delete(obj)
	d.note(obj, "delete "+obj.GetResourceVersion())
	return err
}

func (d *diary[T]) DeleteInferred(obj T) error {
	err := d.Store.Delete(obj)
	d.note(obj, "infer deletion")
	return err
}

func (d *diary[T]) Resumed()    {}
func (d *diary[T]) Mark(string) {}

// Replace notes the list of a reflector that is not the first.
func (d *diary[T]) Replace(items []T, resourceVersion string) error {
	again := d.Len() > 0
	err := d.Store.Replace(items, resourceVersion)
	for _, obj := range items {
		if again {
			d.note(obj, "replace "+obj.GetResourceVersion())
		}
	}
	return err
}
