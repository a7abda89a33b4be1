package listwatch

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/wire"
)

// ReadList implements [Encoding]. The members of a list may come in any order: those
// of custom resources come sorted, items before kind and metadata.
//
// An item is cut out by its brackets, and its grammar is left to its decoder.
func (jsonEncoding) ReadList(body io.Reader, list *ListSink) error {
	r := jsonList{json: wire.NewReader(body), list: list}
	defer r.json.Close()
	err := r.read()
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case isSyntactic(err) && !errors.Is(err, errMalformed):
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return withoutValue(err)
}

// Valid implements validator.
func (jsonEncoding) Valid(object []byte) bool { return jsontext.Value(object).IsValid(lenient) }

type jsonList struct {
	json *wire.Reader
	list *ListSink
}

func (r *jsonList) read() error {
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
		return fmt.Errorf("%w: more follows the end of the list", errMalformed)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// members reads all members of the list and its closing bracket.
func (r *jsonList) members() error {
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

func (r *jsonList) member(name string) error {
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

// value decodes the next value.
func (r *jsonList) value(into any) error {
	offset := r.json.Offset()
	value, err := r.json.Value()
	if err != nil {
		return err
	}
	err = json.Unmarshal(value, into, lenient)
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
		syntactic.ByteOffset += offset
	}
	return err
}

func (r *jsonList) items() error {
	next, err := r.json.Peek()
	if err != nil {
		return err
	}
	if next == 'n' {
		r.list.items = true
		var none []struct{}
		return r.value(&none) // null: Go servers write it for an empty list
	}
	if err := r.list.BeginItems(); err != nil {
		return err
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
