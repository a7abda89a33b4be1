package cbor

import (
	"fmt"
	"io"

	"github.com/relist-go/relist/internal/cborwire"
	"github.com/relist-go/relist/listwatch"
)

// ReadList implements [listwatch.Encoding]. The members of a list may come in any order:
// servers sort them by length, so that the apiVersion is behind the items.
func (encoding) ReadList(body io.Reader, list *listwatch.ListSink) error {
	r := newReader(body)
	size, err := r.openMap()
	if err != nil {
		return err
	}
	for n := uint64(0); size.indefinite || n < size.count; n++ {
		if end, err := r.atBreak(size); err != nil || end {
			if err != nil {
				return err
			}
			break
		}
		name, err := r.item()
		if err != nil {
			return err
		}
		if err := r.member(cborwire.String(name), list); err != nil {
			return err
		}
	}
	return r.atEnd()
}

func (r *reader) member(name string, list *listwatch.ListSink) error {
	if name == "items" {
		return r.items(list)
	}
	value, err := r.item()
	if err != nil {
		return err
	}
	switch name {
	case "kind":
		list.Kind = cborwire.String(value)
	case "apiVersion":
		list.APIVersion = cborwire.String(value)
	case "metadata":
		return r.listMeta(value, &list.ListMeta)
	}
	return nil
}

func (r *reader) items(list *listwatch.ListSink) error {
	size, null, err := r.openArray()
	if err != nil {
		return err
	}
	if err := list.BeginItems(); err != nil || null {
		return err // null: Go servers write it for an empty list
	}
	for n := uint64(0); size.indefinite || n < size.count; n++ {
		if end, err := r.atBreak(size); err != nil || end {
			return err
		}
		object, err := r.item()
		if err != nil {
			return err
		}
		if err := list.Item(object); err != nil {
			return err
		}
	}
	return nil
}

// malformed says what is wrong with a list, and where.
func (r *reader) malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w, at byte %d", listwatch.ErrMalformed, fmt.Errorf(format, args...), r.offset)
}
