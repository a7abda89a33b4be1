package lazy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/unstructured"
	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/listwatch/protobuf"
	"github.com/relist-go/relist/object"
)

// Options of [New]. With the zero value, objects are JSON, and no field is named.
type Options struct {
	// Encoding is the format to ask for. If nil, listwatch.JSON is used. Objects in protobuf stay
	// messages. Every format but these two must call the UnmarshalJSON of a type, because its
	// objects are kept in JSON.
	Encoding format.Format

	// Fields are decoded when an object comes.
	Fields []Named

	// Packer makes what an object keeps smaller. Then each Get and each Path of a field that was
	// not named unpacks it first. If nil, objects are kept as they are. Package zstd below this one
	// has a Packer. Each resource needs its own.
	Packer Packer

	// Unchecked means that only the metadata and the fields are decoded when an object comes, which
	// takes a third less CPU in JSON, and half of it in protobuf. Then an object with a member of a
	// wrong type is in the cache as every other one, and its Get returns the error. Without
	// Unchecked, each object is decoded once when it comes, and an object that cannot be decoded is
	// an ObjectError, as always.
	Unchecked bool
}

// A Packer makes the bytes of objects smaller, such as by compression. Several goroutines may use
// it.
type Packer interface {
	// Pack returns data in fewer bytes, or data itself. It is called once for each object, and data
	// is the caller's no more.
	Pack(data []byte) []byte

	// Unpack returns the bytes for which Pack returned fewer. The caller does not change them.
	Unpack(packed []byte) []byte
}

// New returns a Format in which the objects of a resource become *Object[T]. It is for
// listwatch.Options.Encoding. JSON is the second choice, as always. New returns an error if T has
// no member at the path of a field, if the member has another type, or if objects cannot be decoded
// into T.
func New[T object.Object](opts Options) (format.Format, error) {
	typ := reflect.TypeFor[T]()
	if unstructured.Is(typ) {
		return nil, errors.New("lazy: the kinds of objects are not kept; keep objects of any kind as *listwatch.Raw")
	}
	opts.Encoding = cmp.Or[format.Format](opts.Encoding, json.Format{})
	if c, ok := opts.Encoding.(format.Chooser); ok {
		opts.Encoding = c.Choose(typ)
	}
	made := lazyFormat[T]{Format: opts.Encoding, opts: opts}
	for _, in := range []format.Format{opts.Encoding, json.Format{}} {
		if _, err := newReader(typ, kept(in), opts); err != nil {
			return nil, fmt.Errorf("lazy: %w", err)
		}
	}
	return made, nil
}

// kept is the format in which the objects of a format are kept.
func kept(in format.Format) format.Format {
	if _, ok := in.(protobuf.Format); ok {
		return in
	}
	return json.Format{}
}

// lazyFormat is the Format that New returns.
type lazyFormat[T object.Object] struct {
	format.Format
	opts Options
}

// SecondChoice implements [format.SecondChooser].
func (f lazyFormat[T]) SecondChoice() format.Format { return lazyFormat[T]{json.Format{}, f.opts} }

// Unmarshaler implements [format.Format]. Objects of another type, such as metadata alone, are
// decoded as without this package.
func (f lazyFormat[T]) Unmarshaler(typ reflect.Type, opts format.Options) (func(object []byte, into any) error, error) {
	if typ != reflect.TypeFor[*Object[T]]() {
		return f.Format.Unmarshaler(typ, opts)
	}
	if opts.ShareParts {
		return nil, errors.New("lazy: ShareParts is set, but the bytes of an object have no parts that others could share, and those of a Get are the caller's")
	}
	r, err := newReader(reflect.TypeFor[T](), kept(f.Format), f.opts)
	if err != nil {
		return nil, err
	}
	unmarshal := func(data []byte, into any) error {
		obj := &Object[T]{}
		if err := r.receive(data, &obj.content); err != nil {
			return err
		}
		*into.(**Object[T]) = obj
		return nil
	}
	switch f.Format.(type) {
	case protobuf.Format:
		return protobuf.Messages(pointee(r.typ), opts.Drop, unmarshal)
	case json.Format:
		return wire.Without(opts.Drop, unmarshal)
	}
	r.sorted = true
	return asJSON(f.Format, opts, unmarshal)
}

// jsonText is the JSON of an object that came in another format.
type jsonText struct{ data []byte }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *jsonText) UnmarshalJSON(data []byte) error {
	t.data = bytes.Clone(data)
	return nil
}

// asJSON returns a function that calls unmarshal with the JSON of an object.
func asJSON(in format.Format, opts format.Options, unmarshal func(object []byte, into any) error) (func(object []byte, into any) error, error) {
	read, err := in.Unmarshaler(reflect.TypeFor[*jsonText](), opts)
	if err != nil {
		return nil, err
	}
	return func(object []byte, into any) error {
		var text *jsonText
		if err := read(object, &text); err != nil {
			return err
		}
		if text == nil || text.data == nil {
			return fmt.Errorf("%s gives no JSON of it, and is not for lazy objects", in.MediaType())
		}
		return unmarshal(text.data, into)
	}, nil
}
