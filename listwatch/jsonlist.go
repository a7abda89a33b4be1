package listwatch

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReadList implements [Encoding]. The members of a list may come in any order: those
// of custom resources come sorted, items before kind and metadata.
func (jsonEncoding) ReadList(body io.Reader, list *ListSink) error {
	r := jsonList{json: jsontext.NewDecoder(body, lenient), list: list}
	err := r.read()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return withoutValue(err)
}

type jsonList struct {
	json *jsontext.Decoder
	list *ListSink
}

func (r *jsonList) read() error {
	if _, err := r.expect('{'); err != nil {
		return err
	}
	for r.json.PeekKind() != '}' {
		name, err := r.expect('"')
		if err != nil {
			return err
		}
		if err := r.member(name.String()); err != nil {
			return err
		}
	}
	if _, err := r.expect('}'); err != nil {
		return err
	}
	if _, err := r.json.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more follows the end of the list", errMalformed)
	}
	return nil
}

func (r *jsonList) member(name string) error {
	switch name {
	case "kind":
		return json.UnmarshalDecode(r.json, &r.list.Kind)
	case "apiVersion":
		return json.UnmarshalDecode(r.json, &r.list.APIVersion)
	case "metadata":
		var meta metav1.ListMeta
		if err := json.UnmarshalDecode(r.json, &meta); err != nil {
			return err
		}
		r.list.ListMeta = meta
		return nil
	case "items":
		return r.items()
	}
	return r.json.SkipValue()
}

func (r *jsonList) items() error {
	if r.json.PeekKind() == 'n' {
		r.list.items = true
		return r.json.SkipValue() // null: Go servers write it for an empty list
	}
	if err := r.list.BeginItems(); err != nil {
		return err
	}
	if _, err := r.expect('['); err != nil {
		return err
	}
	for r.json.PeekKind() != ']' {
		object, err := r.json.ReadValue()
		if err != nil {
			return err
		}
		if err := r.list.Item(object); err != nil {
			return err
		}
	}
	_, err := r.expect(']')
	return err
}

func (r *jsonList) expect(kind jsontext.Kind) (jsontext.Token, error) {
	token, err := r.json.ReadToken()
	if err != nil {
		return jsontext.Token{}, err
	}
	if token.Kind() != kind {
		return jsontext.Token{}, fmt.Errorf("%w: %v where %v should be, at byte %d", errMalformed, token.Kind(), kind, r.json.InputOffset())
	}
	return token, nil
}
