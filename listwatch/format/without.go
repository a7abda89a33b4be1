package format

import "github.com/relist-go/relist/listwatch/internal/intern"

// keepWithout is the largest buffer that is kept for the next object.
const keepWithout = 1 << 20

// Without returns a function that drops members from the bytes of an object, and then
// calls unmarshal with the rest. It is for a Format that can drop members without
// decoding the object. drop appends the object to dst without the dropped members. If
// drop cannot read the object, it appends it unchanged, so that unmarshal returns the
// error.
func Without(drop func(dst, object []byte) []byte, unmarshal func(object []byte, into any) error) func(object []byte, into any) error {
	buffers := intern.Pool[[]byte]{New: func() *[]byte { return new([]byte) }}
	return func(object []byte, into any) error {
		buffer := buffers.Get()
		*buffer = drop((*buffer)[:0], object)
		err := unmarshal(*buffer, into)
		if cap(*buffer) <= keepWithout {
			buffers.Put(buffer)
		}
		return err
	}
}
