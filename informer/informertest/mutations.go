// Package informertest finds mistakes in programs that use an informer. It is for tests.
//
// All readers of an informer share its objects, so a program must copy an object before it changes
// it. [DetectMutations] fails a test in which somebody changes an object that was not copied.
// [Calls] tells the calls of a handler, for golden traces.
package informertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/object"
)

// DetectMutations fails the test if somebody writes to an object of in's store. It notes the JSON
// of each object when the store takes it, before any handler is told of it, and compares when
// check is called and at the end of the test. The failure names the object, the member,
// and both values:
//
//	Pod shop/web-0 at resourceVersion 7: somebody wrote to /metadata/labels/app: it was "web", and is "db"
//
// Call it before [informer.Informer.Run], because it cannot see what was written before. Start Run,
// and everything else that reads the objects, after DetectMutations. Cleanups run in reverse order,
// so what they end has ended when DetectMutations compares.
//
// Each state of each object is remembered until the test has ended, also when the store no longer
// has it: a handler may have it still. So memory grows with each event.
//
// What the JSON of an object lacks, such as an unexported field, is not compared.
//
// A call of check compares at once. It may be made from any goroutine, but nobody may be writing to
// an object at the same time; the race detector would say so.
func DetectMutations[T object.Object](t testing.TB, in *informer.Informer[T]) (check func()) {
	t.Helper()
	m := &mutations{t: t}
	_, err := in.Observe("informertest.DetectMutations", func(c informer.Change[T]) {
		if c.Exists {
			m.note(c.Key, c.New.GetResourceVersion(), c.New)
		}
	})
	if err != nil {
		t.Error("informertest: the informer's changes cannot be observed:", err)
	}
	t.Cleanup(m.check)
	return m.check
}

// mutations are the objects that a test looks after.
type mutations struct {
	t testing.TB

	mu    sync.Mutex
	noted []*noted
}

type noted struct {
	key, version string
	object       any // what the store has; a pointer, as a rule
	fields       map[jsontext.Pointer]string
}

func (m *mutations) note(key, version string, object any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noted = append(m.noted, &noted{key: key, version: version, object: object, fields: m.fieldsOf(key, object)})
}

// check fails the test for each object that was written to since the last comparison.
func (m *mutations) check() {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.noted {
		now := m.fieldsOf(n.key, n.object)
		if changes := compare(n.fields, now); len(changes) > 0 {
			what := reflect.Indirect(reflect.ValueOf(n.object)).Type().Name()
			m.t.Errorf("%s %s at resourceVersion %s: somebody wrote to %s", what, n.key, n.version, strings.Join(changes, "; "))
		}
		n.fields = now
	}
}

// mostChanges is how many changes of one object a failure names.
const mostChanges = 10

// compare returns what differs between two states of one object, in the order of the members.
func compare(was, is map[jsontext.Pointer]string) (changes []string) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, had := was[path]
		after, has := is[path]
		switch {
		case !has:
			changes = append(changes, fmt.Sprintf("%s: it was %s, and is gone", path, before))
		case !had:
			changes = append(changes, fmt.Sprintf("%s: it was not there, and is %s", path, after))
		case before != after:
			changes = append(changes, fmt.Sprintf("%s: it was %s, and is %s", path, before, after))
		}
	}
	if len(changes) > mostChanges {
		changes = append(slices.Clip(changes[:mostChanges]), fmt.Sprintf("%d more", len(changes)-mostChanges))
	}
	return changes
}

// fieldsOf returns every value in the JSON of an object that has no parts, by its place.
func (m *mutations) fieldsOf(key string, object any) map[jsontext.Pointer]string {
	m.t.Helper()
	fields := make(map[jsontext.Pointer]string)
	var value any
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		m.t.Errorf("informertest: %s has no JSON to compare: %v", key, err)
	}
	addFields(fields, "", value)
	return fields
}

func addFields(to map[jsontext.Pointer]string, path jsontext.Pointer, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			addFields(to, path.AppendToken(name), member)
		}
	case []any:
		for i, item := range v {
			addFields(to, path.AppendToken(strconv.Itoa(i)), item)
		}
	default:
		text, _ := json.Marshal(v) // it was read from JSON
		to[path] = string(text)
	}
}
