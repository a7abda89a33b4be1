package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/object"
)

// coding writes objects as bytes, and reads them.
type coding[T object.Object] struct {
	name   string
	encode func(T) ([]byte, error) // code of T, which may panic: see bytes
	decode func(data []byte, into any) error
	err    error // why T has no coding; nil if it has one
}

// marshaler is implemented by generated types.
type marshaler interface{ Marshal() ([]byte, error) }

// kinded is implemented by generated types.
type kinded interface{ GetObjectKind() schema.ObjectKind }

// codingsOf returns the codings in which a file may be, the best one first: protobuf for generated
// types, because it takes a fraction of the time, and JSON. Protobuf has no kind, so it refuses an
// object with a kind, which a transform may have given to it. A PartialObjectMetadata always has
// one.
func codingsOf[T object.Object]() []coding[T] {
	typ := reflect.TypeFor[T]()
	var codings []coding[T]
	if typ.Implements(reflect.TypeFor[marshaler]()) && typ != reflect.TypeFor[*metav1.PartialObjectMetadata]() {
		if decode, err := listwatch.Protobuf.Unmarshaler(typ, format.Options{}); err == nil {
			c := coding[T]{name: "protobuf", decode: decode, encode: func(obj T) ([]byte, error) {
				if k, ok := any(obj).(kinded); ok && !k.GetObjectKind().GroupVersionKind().Empty() {
					return nil, errChanges
				}
				return any(obj).(marshaler).Marshal()
			}}
			if c.writesWhatItReads() {
				codings = append(codings, c)
			}
		}
	}
	c := coding[T]{name: "json", encode: func(obj T) ([]byte, error) {
		// json.Marshal would write < as an escape and leave out white space, so a lazy object would
		// come back with other bytes.
		if own, ok := any(obj).(json.Marshaler); ok {
			return own.MarshalJSON()
		}
		return json.Marshal(obj)
	}}
	c.decode, c.err = listwatch.JSON.Unmarshaler(typ, format.Options{})
	return append(codings, c)
}

// writesWhatItReads reports whether the methods Unmarshal and Marshal of T belong together. In some
// types they do not: if T has an Unmarshal of its own and embeds metav1.ObjectMeta, its Marshal is
// that of ObjectMeta, which writes the metadata alone.
func (c *coding[T]) writesWhatItReads() bool {
	const named = "\x0a\x07" + "\x0a\x05probe" // an object with nothing but a name
	obj, err := c.object([]byte(named))
	if err != nil {
		return false
	}
	data, err := c.bytes(obj)
	return err == nil && c.check(obj, data) == nil
}

var errChanges = errors.New("what was written is read as another object; T needs a Checkpointer of its own")

// check returns an error if an object comes back as another one.
func (c *coding[T]) check(obj T, data []byte) error {
	again, err := c.object(data)
	if err != nil {
		return err
	}
	twice, err := c.bytes(again)
	if err != nil {
		return err
	}
	if string(twice) != string(data) || again.GetUID() != obj.GetUID() || again.GetResourceVersion() != obj.GetResourceVersion() ||
		keyOf(again) != keyOf(obj) {
		return errChanges
	}
	return nil
}

// bytes writes one object. The code of T may panic.
func (c *coding[T]) bytes(obj T) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode a %T panicked: %v", obj, p)
		}
	}()
	return c.encode(obj)
}

// object reads one object. The code of T may panic on bytes that it did not write.
func (c *coding[T]) object(data []byte) (obj T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode into %T panicked: %v", obj, p)
		}
	}()
	if c.err != nil {
		return obj, c.err
	}
	err = c.decode(data, &obj)
	if err == nil && obj.GetName() == "" {
		err = errors.New("an object has no name")
	}
	return obj, err
}

// Objects are read by one goroutine, and decoded in batches by several.
const (
	batchObjects = 256
	batchBytes   = 1 << 18
)

// batch holds objects that follow each other in the file. Batches are used again. If each batch
// became garbage, Load would need a larger heap than a list of the same objects.
type batch struct {
	place int // the number of the batch in the file, from 0
	data  []byte
	ends  []int // of each object, in data
}

// readObjects reads all objects, and decodes them on all processors. A length of 0 marks the end of
// the objects.
func (c *coding[T]) readObjects(ctx context.Context, r *summed) ([]T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := runtime.GOMAXPROCS(0)
	batches, free := make(chan batch, workers), make(chan batch, 3*workers)
	var (
		mu      sync.Mutex
		decoded [][]T
		running sync.WaitGroup
	)
	for range workers {
		running.Go(func() {
			for b := range batches {
				objects, err := c.objects(b)
				free <- b // it never blocks: there is room for every batch
				if err != nil {
					cancel(fmt.Errorf("%w: %w", errDamaged, err))
					continue // the reader ends soon
				}
				mu.Lock()
				for len(decoded) <= b.place {
					decoded = append(decoded, nil)
				}
				decoded[b.place] = objects
				mu.Unlock()
			}
		})
	}
	count, err := readBatches(ctx, r, batches, free)
	close(batches)
	running.Wait()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	all := make([]T, 0, count)
	for _, objects := range decoded {
		all = append(all, objects...)
	}
	return all, nil
}

func (c *coding[T]) objects(b batch) ([]T, error) {
	objects := make([]T, 0, len(b.ends))
	begin := 0
	for _, end := range b.ends {
		obj, err := c.object(b.data[begin:end])
		if err != nil {
			return nil, err
		}
		objects = append(objects, obj)
		begin = end
	}
	return objects, nil
}

// readBatches cuts the file into batches, and returns the number of objects.
func readBatches(ctx context.Context, r *summed, batches chan<- batch, free <-chan batch) (int, error) {
	count := 0
	for place := 0; ; place++ {
		var b batch
		select {
		case b = <-free:
		default: // none is free, so b is new. At most one batch is with each worker, one in each place of the channel, and one here
		}
		last, err := b.read(r)
		if err != nil {
			return 0, err
		}
		b.place = place
		count += len(b.ends)
		select {
		case batches <- b:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if last {
			return count, nil
		}
	}
}

// read fills the batch, and reports whether the objects have ended.
func (b *batch) read(r *summed) (last bool, err error) {
	b.data, b.ends = b.data[:0], b.ends[:0]
	for len(b.ends) < batchObjects && len(b.data) < batchBytes {
		size, err := binary.ReadUvarint(r)
		switch {
		case err != nil:
			return false, damaged(err)
		case size == 0:
			return true, nil
		case size > format.MaxObjectBytes:
			return false, errDamaged
		}
		begin := len(b.data)
		b.data = slices.Grow(b.data, int(size))[:begin+int(size)]
		if err := r.full(b.data[begin:]); err != nil {
			return false, err
		}
		b.ends = append(b.ends, len(b.data))
	}
	return false, nil
}
