package listwatch

import (
	"fmt"
	"reflect"

	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/wire"
)

// dropper is implemented by an Encoding that can leave out members of an object before
// it is decoded.
type dropper interface {
	// dropper returns a function that appends an object of a typ to dst, without the
	// members at these paths. What it cannot read, it appends as it is.
	dropper(typ reflect.Type, paths [][]string) (func(dst, object []byte) []byte, error)
}

// dropper implements dropper.
func (jsonEncoding) dropper(_ reflect.Type, paths [][]string) (func(dst, object []byte) []byte, error) {
	drop, err := wire.NewDrop(paths)
	if err != nil {
		return nil, err
	}
	return drop.Append, nil
}

// keepDropped is the size up to which the memory of an object without what is dropped
// is kept for the next one.
const keepDropped = 1 << 20

// drop has what stands at these paths dropped from every object before it is decoded.
func (d *decoder[T]) drop(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	parsed := make([][]string, 0, len(paths))
	for _, path := range paths {
		names, err := wire.ParsePath(path)
		if err == nil {
			_, err = wire.NewDrop([][]string{names})
		}
		if err != nil {
			return fmt.Errorf("listwatch: drop %q: %w", path, err)
		}
		parsed = append(parsed, names)
	}
	for _, e := range d.encodings {
		can, ok := e.Encoding.(dropper)
		if !ok {
			return fmt.Errorf("listwatch: nothing can be dropped from %s; leave Drop empty, or ask for JSON", e.MediaType())
		}
		without, err := can.dropper(reflect.TypeFor[T](), parsed)
		if err != nil {
			return fmt.Errorf("listwatch: drop from %s: %w", e.MediaType(), err)
		}
		e.unmarshal = dropFirst(without, e.unmarshal)
	}
	return nil
}

func dropFirst(without func(dst, object []byte) []byte, unmarshal func(object []byte, into any) error) func(object []byte, into any) error {
	buffers := intern.Pool[[]byte]{New: func() *[]byte { return new([]byte) }}
	return func(object []byte, into any) error {
		buffer := buffers.Get()
		*buffer = without((*buffer)[:0], object)
		err := unmarshal(*buffer, into)
		if cap(*buffer) <= keepDropped {
			buffers.Put(buffer)
		}
		return err
	}
}
