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

type (
	testObject struct{ metav1.ObjectMeta }
	options    = deltafifo.Options[*testObject]
)

// obj makes an object from "name@version" or "name#uid@version". If there is no uid, the UID is
// "u".
func obj(s string) *testObject {
	name, version, _ := strings.Cut(s, "@")
	name, uid, found := strings.Cut(name, "#")
	if !found {
		uid = "u"
	}
	return &testObject{metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

func objs(list ...string) []*testObject {
	out := make([]*testObject, len(list))
	for i, s := range list {
		out[i] = obj(s)
	}
	return out
}

// fixture is a queue and a consumer that records its entries.
type fixture struct {
	*testing.T
	q      *deltafifo.Queue[*testObject]
	known  *store.Store[*testObject]
	popped []string
}

// newFixture returns a fixture whose consumer holds known.
func newFixture(t *testing.T, opts deltafifo.Options[*testObject], known ...string) *fixture {
	f := &fixture{T: t, known: store.New(store.Options[*testObject]{})}
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

// apply updates the consumer's objects with an entry.
func (f *fixture) apply(e deltafifo.Entry[*testObject]) error {
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

// pop takes one entry. Its process function calls during, and then the consumer applies the entry.
func (f *fixture) pop(during ...func()) {
	f.Helper()
	f.must(f.q.Pop(f.Context(), func(e deltafifo.Entry[*testObject]) error {
		f.popped = append(f.popped, format(e))
		for _, d := range during {
			d()
		}
		return f.apply(e)
	}))
}

var errProcess = errors.New("process failed")

// popFailing takes one entry, and the consumer fails to apply it.
func (f *fixture) popFailing(during ...func()) {
	f.Helper()
	err := f.q.Pop(f.Context(), func(e deltafifo.Entry[*testObject]) error {
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

// drain takes all queued entries.
func (f *fixture) drain() {
	f.Helper()
	for f.q.Len() > 0 {
		f.pop()
	}
}

// want drains the queue and compares all entries that were taken since the start.
func (f *fixture) want(entries ...string) {
	f.Helper()
	f.drain()
	if diff := cmp.Diff(entries, f.popped); diff != "" {
		f.Errorf("entries (-want +got):\n%s", diff)
	}
}

// format writes an entry as "key: Type@version Type@version", with "?" after the type of an
// inferred deletion and "initial" at the end of an initial entry.
func format(e deltafifo.Entry[*testObject]) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", e.Key)
	for _, d := range e.Deltas {
		mark := ""
		if d.Tombstone != nil {
			mark = "?"
			if d.Type != deltafifo.Deleted || d.Tombstone.Key != e.Key || d.Tombstone.Object != d.Object {
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

// hooked is a Known that calls the test from its methods. The queue calls them without its lock, so
// the test may call any method.
type hooked struct {
	*store.Store[*testObject]
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

func (h *hooked) Get(key string) (*testObject, bool) {
	if h.onGet != nil {
		h.onGet(key)
	}
	return h.Store.Get(key)
}

func popOne(ctx context.Context, q *deltafifo.Queue[*testObject]) error {
	return q.Pop(ctx, func(deltafifo.Entry[*testObject]) error { return nil })
}
