package traces

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// mirror is client-go's counterpart of the client that trace.Mirror makes.
type mirror struct {
	transport *http.Transport
	reflector *cache.Reflector
	queue     *cache.DeltaFIFO
	known     knownObjects
}

func (m *mirror) Run(ctx context.Context) error {
	m.reflector.RunWithContext(klog.NewContext(ctx, logr.Discard()))
	return ctx.Err()
}

// Pop moves an entry from the queue to the store, as an informer does.
func (m *mirror) Pop() (entry string, ok bool) {
	_, err := m.queue.Pop(func(item any, _ bool) error {
		var err error
		entry, err = m.apply(item)
		return err
	})
	if errors.Is(err, cache.ErrFIFOClosed) {
		return "", false
	}
	if err != nil {
		entry += " " + err.Error()
	}
	return entry, true
}

// apply returns the text of an entry.
func (m *mirror) apply(item any) (entry string, err error) {
	deltas, ok := item.(cache.Deltas)
	if !ok {
		return "", errors.New("an entry that is no Deltas")
	}
	if entry, err = m.queue.KeyOf(deltas); err != nil {
		return "", err
	}
	var errs []error
	for _, d := range deltas {
		entry += " " + describe(d)
		if d.Type == cache.Deleted {
			errs = append(errs, m.known.Delete(d.Object))
		} else {
			errs = append(errs, m.known.Update(d.Object))
		}
	}
	return entry, errors.Join(errs...)
}

func describe(d cache.Delta) string {
	text, suffix := string(d.Type)+"@", ""
	obj := d.Object
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj, suffix = tombstone.Obj, " (final state unknown)"
	}
	if configMap, ok := obj.(*corev1.ConfigMap); ok {
		text += configMap.ResourceVersion
	}
	return text + suffix
}

func (m *mirror) Synced() bool { return m.queue.HasSynced() }

func (m *mirror) Store() []string {
	var lines []string
	for _, key := range m.known.ListKeys() {
		obj, _, err := m.known.GetByKey(key)
		if configMap, ok := obj.(*corev1.ConfigMap); ok && err == nil {
			lines = append(lines, key+"@"+configMap.ResourceVersion)
		}
	}
	return lines
}

func (m *mirror) Close() { m.transport.CloseIdleConnections() }

// knownObjects is a Store whose keys are listed in order. The queue offers them
// in the order in which they are listed, as deletions and in a resync; that of a
// map would be another one in every run.
type knownObjects struct{ cache.Store }

func (k knownObjects) ListKeys() []string {
	return slices.Sorted(slices.Values(k.Store.ListKeys()))
}

// inOrder is a queue that takes initial events by key. A Reflector has them in a
// map, and so in another order in every run.
type inOrder struct{ *cache.DeltaFIFO }

func (q inOrder) Replace(items []any, version string) error {
	key := func(item any) string {
		key, _ := q.KeyOf(item) // Replace reports the error
		return key
	}
	slices.SortStableFunc(items, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return q.DeltaFIFO.Replace(items, version)
}
