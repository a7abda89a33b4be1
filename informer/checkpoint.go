package informer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"iter"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Checkpointer keeps a copy of a store for the next process: see [Options.Checkpoint].
// checkpoint.File is one. An informer makes one call at a time.
//
// The parameter named of says what the source of the copy is: the server, the resource, the
// namespace, the selectors, and the shape of T. It is one line of JSON. A copy of another source
// must not be loaded.
type Checkpointer[T object.Object] interface {
	// Load returns the copy that was saved last. If there is none, Load returns no objects, an
	// empty Version, and no error. If there is a copy that cannot be used, because it is damaged or
	// of another source, Load returns an error. The informer then reports the error, begins with a
	// list, and saves another copy.
	Load(ctx context.Context, of string) ([]T, reflector.Point, error)

	// Save replaces the copy, as a whole or not at all, also if the process is killed meanwhile.
	// The parameter named at is the point of these objects, and Load must return it with them. Save
	// must not change the objects. If it returns an error, the informer reports it, and calls Save
	// again later.
	Save(ctx context.Context, of string, at reflector.Point, objects iter.Seq[T]) error
}

const (
	// defaultCheckpointEvery is the default of Options.CheckpointEvery. By default etcd keeps old
	// versions for 5 minutes. A server whose watch cache is empty remembers no more than etcd, so a
	// copy older than that is seldom of use.
	defaultCheckpointEvery = 5 * time.Minute

	// lastSave bounds the time of the save at the end of Run.
	lastSave = 20 * time.Second
)

// checkpoints loads the copy when Run begins, and saves it from time to time.
//
// A copy must be of one moment. So the store is saved only when it has exactly the changes that the
// reflector gave before a point: the queue is empty, and the reflector has given nothing after the
// point. That moment comes whenever the consumer is up to date.
type checkpoints[T object.Object] struct {
	keeper Checkpointer[T]
	every  time.Duration // zero for never
	of     string
	log    *slog.Logger
	scope  []any  // of every line
	wake   wakeup // of the consumer
	loaded chan struct{}

	given atomic.Uint64 // the number of changes that the reflector has begun to give to the queue
	due   atomic.Bool   // the store is to be saved as soon as it can be

	mu    sync.Mutex
	point reflector.Point
	at    uint64 // the value of given at the point

	// What was saved last, and whether saving has failed since. One goroutine saves at a time.
	saved   uint64
	savedAt reflector.Point
	failing bool

	saves  chan savedStore[T] // from the consumer to the goroutine that saves; holds one
	saving sync.WaitGroup     // that goroutine
}

// savedStore is a store on its way to the goroutine that saves.
type savedStore[T object.Object] struct {
	at       reflector.Point
	given    uint64
	snapshot *store.Snapshot[T]
}

func newCheckpoints[T object.Object](lw source.ListWatcher[T], opts *Options[T], wake wakeup) *checkpoints[T] {
	k := &checkpoints[T]{
		keeper: opts.Checkpoint, every: opts.CheckpointEvery, log: opts.logger(), wake: wake,
		loaded: make(chan struct{}), saves: make(chan savedStore[T], 1),
	}
	resource, namespace := source.ScopeOf(lw)
	if resource != "" {
		k.scope = append(k.scope, "resource", resource)
	}
	if namespace != "" {
		k.scope = append(k.scope, "namespace", namespace)
	}
	k.of = copyOf(lw)
	k.every = cmp.Or(k.every, defaultCheckpointEvery)
	return k
}

// copyOf returns the source of a copy, as [Checkpointer] gets it.
func copyOf[T object.Object](lw source.ListWatcher[T]) string {
	origin := json.RawMessage("null")
	switch lw := any(lw).(type) {
	case interface{ Origin() string }:
		if origin = json.RawMessage(lw.Origin()); !json.Valid(origin) {
			origin, _ = json.Marshal(lw.Origin()) // a program's own Origin may be no JSON; a string can always be encoded
		}
	case fmt.Stringer:
		origin, _ = json.Marshal(lw.String()) // a string can always be encoded
	}
	typ := reflect.TypeFor[T]()
	text, err := json.Marshal(struct {
		Origin json.RawMessage `json:"origin"`
		Type   string          `json:"type"`
		Shape  string          `json:"shape"`
	}{origin, typ.String(), shape(typ)})
	if err != nil {
		// unreachable: strings and valid JSON can always be encoded.
		panic("informer: " + err.Error())
	}
	return string(text)
}

// load gives the saved copy to the store, and tells the reflector where to continue.
func (in *Informer[T]) load(ctx context.Context) {
	k := in.checkpoints
	defer close(k.loaded)
	k.log = k.log.With(k.scope...)
	k.due.Store(true) // without a copy, the first list is saved as soon as it has come
	began := time.Now()
	objects, at, err := k.keeper.Load(ctx, k.of)
	switch {
	case ctx.Err() != nil:
		return
	case err == nil && at.Version == "":
		return
	case err == nil:
		err = in.store.Replace(objects, at.Version)
	}
	if err != nil {
		k.log.Warn("relist: the saved copy is not used; begins with a list", "error", err)
		return
	}
	k.log.Info("relist: begins with a saved copy", "objects", len(objects), "resourceVersion", at.Version, "unsure", len(at.Unsure)+at.MoreUnsure,
		"duration", time.Since(began).Round(time.Millisecond))
	in.reflector.StartAt(at)
	k.due.Store(false)
}

// run saves what the consumer hands over. After each period it makes the next save due. It ends
// with ctx.
func (k *checkpoints[T]) run(ctx context.Context) {
	var timer <-chan time.Time
	if k.every > 0 {
		ticker := time.NewTicker(k.every)
		defer ticker.Stop()
		timer = ticker.C
	}
	for ctx.Err() == nil {
		select {
		case <-timer:
			k.due.Store(true)
			k.wake.signal()
		case <-ctx.Done():
		case s := <-k.saves:
			if ctx.Err() != nil {
				return // a later save follows, when Run ends
			}
			if err := k.save(ctx, s); err != nil && ctx.Err() == nil {
				k.failed(err)
			}
		}
	}
}

// offer hands the store over to be saved, if that is due and the store is at a point. Only the
// consumer calls it, between two entries.
func (k *checkpoints[T]) offer(queue *deltafifo.Queue[T], from *store.Store[T]) {
	if !k.due.Load() {
		return
	}
	if s, ok := k.exact(queue, from); ok {
		select {
		case k.saves <- s:
			k.due.Store(false)
		default: // the last one has not been saved yet
		}
	}
}

// exact returns the store as it is, if it is at a point. Then the queue is empty, so everything
// that was given until the point has been processed, and nothing was given after it.
func (k *checkpoints[T]) exact(queue *deltafifo.Queue[T], from *store.Store[T]) (savedStore[T], bool) {
	k.mu.Lock()
	s := savedStore[T]{at: k.point, given: k.at}
	k.mu.Unlock()
	if s.at.Version == "" || queue.Len() > 0 || k.given.Load() != s.given {
		return s, false
	}
	s.snapshot = from.Snapshot()
	return s, true
}

// save saves the store, unless the last copy is the same.
func (k *checkpoints[T]) save(ctx context.Context, s savedStore[T]) error {
	if !k.failing && k.savedAt.Version == s.at.Version && k.savedAt.MoreUnsure == s.at.MoreUnsure && k.saved == s.given && slices.Equal(k.savedAt.Unsure, s.at.Unsure) {
		return nil
	}
	began := time.Now()
	err := k.keeper.Save(ctx, k.of, s.at, func(yield func(T) bool) {
		for _, obj := range s.snapshot.All() {
			if !yield(obj) {
				return
			}
		}
	})
	if err == nil {
		k.saved, k.savedAt, k.failing = s.given, s.at, false
		k.log.Debug("relist: saved a copy", "objects", s.snapshot.Len(), "resourceVersion", s.at.Version,
			"duration", time.Since(began).Round(time.Millisecond))
	}
	return err
}

// failed logs the first of several failures in a row.
func (k *checkpoints[T]) failed(err error) {
	if !k.failing {
		k.failing = true
		k.log.Warn("relist: the copy could not be saved", "error", err)
	}
}

// begin starts the goroutine that saves. It runs until ctx ends.
func (k *checkpoints[T]) begin(ctx context.Context, fail context.CancelCauseFunc) {
	k.saving.Go(func() {
		goexit.Do(func() { k.run(ctx) }, func(exited bool) {
			if exited {
				fail(fmt.Errorf("informer: save a copy: %w", goexit.Err))
			}
		})
	})
}

// end saves the store when Run ends. The reflector has ended, so nothing more comes into the queue.
// The consumer first applies what waits there.
func (k *checkpoints[T]) end(queue *deltafifo.Queue[T], c *consumer[T]) {
	k.saving.Wait()
	if c.exited {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSave) // the context of Run has ended
	defer cancel()
	for queue.Len() > 0 && ctx.Err() == nil {
		_ = queue.Pop(ctx, c.process) // process never fails, and the queue is open
	}
	s, ok := k.exact(queue, c.store)
	if !ok {
		return
	}
	if err := k.save(ctx, s); err != nil {
		k.failed(err)
	}
}

// countingSink is the queue that the reflector writes to. It counts the changes.
type countingSink[T object.Object] struct {
	reflector.Memory[T]

	k *checkpoints[T]
}

func (s countingSink[T]) Apply(c reflector.Change[T]) error {
	s.k.given.Add(1)
	return s.Memory.Apply(c)
}

func (s countingSink[T]) BeginList(reuse bool) reflector.Replacement[T] {
	return countedList[T]{s.Memory.BeginList(reuse), s.k}
}

func (s countingSink[T]) At(resourceVersion string, point func() reflector.Point) {
	k := s.k
	k.mu.Lock()
	k.point, k.at = point(), k.given.Load()
	k.mu.Unlock()
	s.Memory.At(resourceVersion, point)
	if k.due.Load() {
		k.wake.signal()
	}
}

// countedList is a list on its way into the queue. It counts as one change.
type countedList[T object.Object] struct {
	reflector.Replacement[T]

	k *checkpoints[T]
}

func (l countedList[T]) End(resourceVersion string, keep []string, keepAll bool) error {
	l.k.given.Add(1)
	return l.Replacement.End(resourceVersion, keep, keepAll)
}

// shape is a hash of the parts of a type that can be saved: the names, tags and types of its
// fields, at every depth. If a program is built with another type, a copy that was saved with the
// old type may lack fields.
func shape(typ reflect.Type) string {
	h := sha256.New()
	writeShape(h, typ, map[reflect.Type]bool{})
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func writeShape(h hash.Hash, typ reflect.Type, seen map[reflect.Type]bool) {
	_, _ = fmt.Fprintf(h, "%s %s.%s;", typ.Kind(), typ.PkgPath(), typ.Name()) // a hash never fails
	if seen[typ] {
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Struct:
		for i := range typ.NumField() {
			field := typ.Field(i)
			if !field.IsExported() && !field.Anonymous {
				continue
			}
			_, _ = fmt.Fprintf(h, "%s %q ", field.Name, field.Tag)
			writeShape(h, field.Type, seen)
		}
	case reflect.Map:
		writeShape(h, typ.Key(), seen)
		writeShape(h, typ.Elem(), seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		writeShape(h, typ.Elem(), seen)
	default: // it has no parts
	}
}
