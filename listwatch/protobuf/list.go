package protobuf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/protowire"
)

// The fields of every list.
const (
	listMetadata = 1
	listItems    = 2
)

// ReadList implements [format.Format]. The kind comes first, then the metadata, then the
// items, each with its length before it:
//
//	k8s\0 typeMeta{v1 PodList} raw{ metadata{...} item{...} item{...} ... }
func (Format) ReadList(body io.Reader, list *format.List) error {
	r := listReader{wire: protowire.NewReader(body), list: list}
	err := r.read()
	if err == io.EOF { //nolint:errorlint // only the bare one is an end
		err = io.ErrUnexpectedEOF
	}
	return err
}

type listReader struct {
	wire  *protowire.Reader
	list  *format.List
	begun bool // raw, which is there once
}

func (r *listReader) read() error {
	start, err := r.wire.Bytes(len(magic))
	if err != nil {
		return err
	}
	if !bytes.Equal(start, magic) {
		return fmt.Errorf("%w: it begins with %q, not as protobuf of Kubernetes does", format.ErrMalformed, start)
	}
	for {
		number, typ, err := r.wire.Tag()
		if err == io.EOF { //nolint:errorlint // only the bare one is an end
			return r.finish()
		}
		if err == nil {
			err = r.field(number, typ)
		}
		if err != nil {
			return r.malformed(err)
		}
	}
}

// finish is called at the end of the message. A message without a list was cut off, also
// if it is empty.
func (r *listReader) finish() error {
	if !r.begun {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// malformed adds the position to an error about the list's bytes. It leaves errors of
// the connection unchanged.
func (r *listReader) malformed(err error) error {
	var wire protowire.Error
	if errors.As(err, &wire) {
		return fmt.Errorf("%w: %w, at byte %d of the list", format.ErrMalformed, err, r.wire.Offset())
	}
	return err
}

func (r *listReader) field(number int, typ protowire.Type) error {
	if typ != protowire.Bytes {
		return r.wire.Skip(typ)
	}
	if number == unknownRaw {
		return r.raw()
	}
	value, err := r.value()
	if err != nil {
		return err
	}
	switch number {
	case unknownTypeMeta:
		var e envelope
		err = e.typeMeta(value)
		r.list.APIVersion, r.list.Kind = string(e.apiVersion), string(e.kind)
	case unknownContentEncoding, unknownContentType:
		err = checkContent(protowire.Field{Number: number, Bytes: value})
	}
	return err
}

// raw reads the list itself.
func (r *listReader) raw() error {
	size, err := r.wire.Uvarint()
	if err != nil {
		return err
	}
	if r.begun {
		return protowire.Error("a second list follows the first")
	}
	r.begun = true
	if size > 1<<62 {
		return protowire.ErrTruncated // no list is so long
	}
	if kind := r.list.Kind; kind != "" && !strings.HasSuffix(kind, "List") {
		return protowire.Error(fmt.Sprintf("it is of kind %.63q instead of a list", kind))
	}
	end := r.wire.Offset() + int64(size) // at most 1<<62
	items := false
	for r.wire.Offset() < end {
		number, typ, err := r.wire.Tag()
		if err != nil {
			return err
		}
		switch {
		case typ != protowire.Bytes || number != listMetadata && number != listItems:
			err = r.wire.Skip(typ)
		case number == listMetadata:
			err = r.metadata()
		default:
			if !items {
				err, items = r.list.BeginItems(), true
			}
			if err == nil {
				err = r.item(end)
			}
		}
		if err != nil {
			return err
		}
	}
	if r.wire.Offset() > end {
		return protowire.Error("a part of the list is longer than the list")
	}
	if !items {
		return r.list.BeginItems()
	}
	return nil
}

func (r *listReader) metadata() error {
	value, err := r.value()
	if err != nil {
		return err
	}
	if err := r.list.ListMeta.Unmarshal(value); err != nil {
		return generated(err)
	}
	return nil
}

func (r *listReader) item(end int64) error {
	value, err := r.value()
	if err != nil {
		return err
	}
	if r.wire.Offset() > end {
		return protowire.Error("an item is longer than the list")
	}
	return r.list.Item(value)
}

func (r *listReader) value() ([]byte, error) {
	size, err := r.wire.Uvarint()
	if err != nil {
		return nil, err
	}
	if size > format.MaxObjectBytes {
		return nil, format.ErrObjectTooLarge
	}
	return r.wire.Bytes(int(size)) // at most format.MaxObjectBytes
}
