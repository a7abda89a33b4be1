package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

type object struct{ metav1.ObjectMeta }

// obj makes an object from "name@version" or "name#uid@version"; without a uid it is "u".
func obj(s string) *object {
	name, version, _ := strings.Cut(s, "@")
	name, uid, found := strings.Cut(name, "#")
	if !found {
		uid = "u"
	}
	return &object{metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

func objs(list ...string) []*object {
	out := make([]*object, len(list))
	for i, s := range list {
		out[i] = obj(s)
	}
	return out
}

// fixture is a queue and a consumer that keeps what it is given.
type fixture struct {
	*testing.T
	q      *deltafifo.Queue[*object]
	known  *store.Store[*object]
	popped []string
}

// newFixture returns a fixture whose consumer has been given known, long ago.
func newFixture(t *testing.T, opts deltafifo.Options[*object], known ...string) *fixture {
	f := &fixture{T: t, known: store.New(store.Options[*object]{})}
	if opts.Known == nil {
		opts.Known = f.known
	}
	f.must(f.known.Replace(objs(known...), "1"))
	f.q = deltafifo.New(opts)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) add(s string)           { f.Helper(); f.must(f.q.Add(obj(s))) }
func (f *fixture) update(s string)        { f.Helper(); f.must(f.q.Update(obj(s))) }
func (f *fixture) delete(s string)        { f.Helper(); f.must(f.q.Delete(obj(s))) }
func (f *fixture) replace(list ...string) { f.Helper(); f.must(f.q.Replace(objs(list...), "1")) }
func (f *fixture) resync()                { f.Helper(); f.must(f.q.Resync()) }

// apply is what a consumer does with an entry.
func (f *fixture) apply(e deltafifo.Entry[*object]) error {
	for _, d := range e.Deltas {
		var err error
		if d.Type == deltafifo.Deleted {
			err = f.known.Delete(d.Object)
		} else {
			err = f.known.Update(d.Object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pop takes one entry. While it is processed, during runs, and then the consumer applies it.
func (f *fixture) pop(during ...func()) {
	f.Helper()
	f.must(f.q.Pop(f.Context(), func(e deltafifo.Entry[*object]) error {
		f.popped = append(f.popped, format(e))
		for _, d := range during {
			d()
		}
		return f.apply(e)
	}))
}

var errProcess = errors.New("process failed")

// popFailing takes one entry that the consumer fails to apply.
func (f *fixture) popFailing(during ...func()) {
	f.Helper()
	err := f.q.Pop(f.Context(), func(e deltafifo.Entry[*object]) error {
		f.popped = append(f.popped, format(e)+" failed")
		for _, d := range during {
			d()
		}
		return errProcess
	})
	if !errors.Is(err, errProcess) {
		f.Errorf("Pop: %v, want what process returned", err)
	}
}

// drain takes all that is queued.
func (f *fixture) drain() {
	f.Helper()
	for f.q.Len() > 0 {
		f.pop()
	}
}

// want drains the queue and compares everything that was taken from the start.
func (f *fixture) want(entries ...string) {
	f.Helper()
	f.drain()
	if diff := cmp.Diff(entries, f.popped); diff != "" {
		f.Errorf("entries (-want +got):\n%s", diff)
	}
}

// format writes an entry as "key: Type@version Type@version", with "?" after the type of an inferred deletion and "initial"
// at the end of an initial entry.
func format(e deltafifo.Entry[*object]) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", e.Key)
	for _, d := range e.Deltas {
		mark := ""
		if d.Tombstone != nil {
			mark = "?"
			if d.Type != deltafifo.Deleted || d.Tombstone.Key != e.Key || d.Tombstone.Obj != d.Object {
				mark = "(bad tombstone)"
			}
		}
		fmt.Fprintf(&b, " %s%s@%s", d.Type, mark, d.Object.ResourceVersion)
	}
	if e.Initial {
		b.WriteString(" initial")
	}
	return b.String()
}

// hooked is a Known that calls the test when it is asked. It is called without the lock, so the test may do anything.
type hooked struct {
	*store.Store[*object]
	afterKeys func()
	onGet     func(key string)
}

func (h *hooked) Keys() []string {
	keys := h.Store.Keys()
	if f := h.afterKeys; f != nil {
		h.afterKeys = nil
		f()
	}
	return keys
}

func (h *hooked) Get(key string) (*object, bool) {
	if h.onGet != nil {
		h.onGet(key)
	}
	return h.Store.Get(key)
}

func popOne(ctx context.Context, q *deltafifo.Queue[*object]) error {
	return q.Pop(ctx, func(deltafifo.Entry[*object]) error { return nil })
}
