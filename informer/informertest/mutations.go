// Package informertest finds mistakes in programs that use an informer. It is for tests.
//
// All readers of an informer share its objects, so a program must copy an object before it changes
// it. [DetectMutations] fails a test in which somebody changes an object that was not copied.
// [Calls] tells the calls of a handler, for golden traces.
package informertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
)

// DetectMutations fails the test if somebody writes to an object of in's store. It notes every
// field of each object when the store takes it, before any handler is told of it, and compares when
// [Mutations.Check] is called and at the end of the test. The failure names the object, the field,
// and both values:
//
//	Pod shop/web-0 at resourceVersion 7: somebody wrote to Labels["app"]: it was "web", and is "db"
//
// Call it before [informer.Informer.Run], because it cannot see what was written before. Start Run,
// and everything else that reads the objects, after DetectMutations. Cleanups run in reverse order,
// so what they end has ended when DetectMutations compares.
//
// Each state of each object is remembered until the test has ended, also when the store no longer
// has it: a handler may have it still. So memory grows with each event.
//
// A value that has its own text and unexported fields, such as a time or a resource.Quantity, is
// compared by its text. What a function, a channel or an unexported pointer refers to is not
// compared.
func DetectMutations[T object.Object](t testing.TB, in *informer.Informer[T]) *Mutations {
	t.Helper()
	m := &Mutations{t: t}
	_, err := in.Observe("informertest.DetectMutations", func(c informer.Change[T]) {
		if c.Exists {
			m.note(c.Key, c.New.GetResourceVersion(), c.New)
		}
	})
	if err != nil {
		t.Error("informertest: the informer's changes cannot be observed:", err)
	}
	t.Cleanup(m.Check)
	return m
}

// Mutations are the objects that a test looks after. Check may be called from any goroutine.
type Mutations struct {
	t testing.TB

	mu    sync.Mutex
	noted []*noted
}

// noted is one state of one object.
type noted struct {
	key, version string
	object       any // what the store has; a pointer, as a rule
	fields       []field
}

func (m *Mutations) note(key, version string, object any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noted = append(m.noted, &noted{key: key, version: version, object: object, fields: fieldsOf(object)})
}

// Check fails the test for each object that was written to since the last comparison. It reads the
// objects, so nobody may be writing to one at the same time; the race detector would say so.
func (m *Mutations) Check() {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.noted {
		now := fieldsOf(n.object)
		if changes := compare(n.fields, now); len(changes) > 0 {
			what := reflect.Indirect(reflect.ValueOf(n.object)).Type().Name()
			m.t.Errorf("%s %s at resourceVersion %s: somebody wrote to %s", what, n.key, n.version, strings.Join(changes, "; "))
		}
		n.fields = now
	}
}

// mostChanges is how many changes of one object a failure names.
const mostChanges = 10

// compare returns what differs between two states of one object, in the order of the fields.
func compare(before, after []field) (changes []string) {
	was, is := byPath(before), byPath(after)
	for _, f := range before {
		if now, ok := is[f.path]; !ok {
			changes = append(changes, fmt.Sprintf("%s: it was %s, and is gone", f.path, f.value))
		} else if now != f.value {
			changes = append(changes, fmt.Sprintf("%s: it was %s, and is %s", f.path, f.value, now))
		}
	}
	for _, f := range after {
		if _, ok := was[f.path]; !ok {
			changes = append(changes, fmt.Sprintf("%s: it was not there, and is %s", f.path, f.value))
		}
	}
	if len(changes) > mostChanges {
		changes = append(slices.Clip(changes[:mostChanges]), fmt.Sprintf("%d more", len(changes)-mostChanges))
	}
	return changes
}

func byPath(fields []field) map[string]string {
	m := make(map[string]string, len(fields))
	for _, f := range fields {
		m[f.path] = f.value
	}
	return m
}
