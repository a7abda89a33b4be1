package json

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/wire"
)

// ReadList implements [format.Format]. It accepts the members of a list in any order,
// because a list of custom resources has them sorted: items before kind and metadata.
//
// ReadList finds the end of an item by its brackets, and leaves the grammar to the
// item's decoder.
func (Format) ReadList(body io.Reader, list *format.List) error {
	r := listReader{json: wire.NewReader(body), list: list}
	defer r.json.Close()
	err := r.read()
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &syntactic) && !errors.Is(err, format.ErrMalformed):
		return fmt.Errorf("%w: %w", format.ErrMalformed, err)
	}
	return err
}

type listReader struct {
	json *wire.Reader
	list *format.List
}

func (r *listReader) read() error {
	switch first, err := r.json.Peek(); {
	case err != nil:
		return err
	case first == 0xef:
		return fmt.Errorf("%w: it begins with a byte order mark, which JSON does not have", format.ErrMalformed)
	case first == 0x1f:
		return fmt.Errorf("%w: it seems to be compressed, but has no Content-Encoding", format.ErrMalformed)
	}
	if err := r.json.Expect('{'); err != nil {
		return err
	}
	next, err := r.json.Peek()
	if err != nil {
		return err
	}
	if next == '}' {
		_, err = r.json.Separator('}')
	} else {
		err = r.members()
	}
	if err != nil {
		return err
	}
	if _, err := r.json.Peek(); err == nil {
		return fmt.Errorf("%w: more follows the end of the list", format.ErrMalformed)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// members reads all members of the list and its closing bracket.
func (r *listReader) members() error {
	for {
		var name string
		if err := r.value(&name); err != nil {
			return err
		}
		if err := r.json.Expect(':'); err != nil {
			return err
		}
		if err := r.member(name); err != nil {
			return err
		}
		if more, err := r.json.Separator('}'); !more {
			return err
		}
	}
}

func (r *listReader) member(name string) error {
	switch name {
	case "kind":
		return r.value(&r.list.Kind)
	case "apiVersion":
		return r.value(&r.list.APIVersion)
	case "metadata":
		var meta metav1.ListMeta
		if err := r.value(&meta); err != nil {
			return err
		}
		r.list.ListMeta = meta
		return nil
	case "items":
		return r.items()
	}
	var skipped jsontext.Value
	return r.value(&skipped)
}

func (r *listReader) value(into any) error {
	offset := r.json.Offset()
	value, err := r.json.Value()
	if err != nil {
		return err
	}
	err = json.Unmarshal(value, into, lenient)
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntactic):
		syntactic.ByteOffset += offset
	case err != nil:
		err = fmt.Errorf("%w: %w", format.ErrMalformed, withoutValue(err))
	}
	return err
}

func (r *listReader) items() error {
	next, err := r.json.Peek()
	if err != nil {
		return err
	}
	if r.list.HasItems() {
		return fmt.Errorf("%w: it has items twice", format.ErrMalformed)
	}
	if err := r.list.BeginItems(); err != nil {
		return err
	}
	if next == 'n' {
		var none []struct{}
		return r.value(&none) // null: Go servers write it for an empty list
	}
	if err := r.json.Expect('['); err != nil {
		return err
	}
	if next, err = r.json.Peek(); err != nil {
		return err
	}
	for more := next != ']'; more; {
		object, err := r.json.Value()
		if err != nil {
			return err
		}
		if err := r.list.Item(object); err != nil {
			return err
		}
		if more, err = r.json.Separator(']'); err != nil {
			return err
		}
	}
	if next == ']' {
		_, err = r.json.Separator(']')
	}
	return err
}
