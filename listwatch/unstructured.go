package listwatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// decodeUnstructured builds the maps that apimachinery's own decoder would:
// whole numbers that fit are int64, other numbers float64.
func decodeUnstructured(data []byte) (*unstructured.Unstructured, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), lenient)
	if dec.PeekKind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	value, err := decodeAny(dec)
	if err != nil {
		return nil, err
	}
	if err := atEnd(dec); err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	return &unstructured.Unstructured{Object: object}, nil
}

func atEnd(dec *jsontext.Decoder) error {
	_, err := dec.ReadToken()
	if err == nil {
		return &jsontext.SyntacticError{ByteOffset: dec.InputOffset(), Err: errors.New("more follows the object")}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func decodeAny(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return decodeMap(dec)
	case '[':
		return decodeSlice(dec)
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String())
	case 't':
		return true, nil
	case 'f':
		return false, nil
	default: // 'n'
		return nil, nil //nolint:nilnil // JSON null is nil, as in apimachinery
	}
}

func decodeMap(dec *jsontext.Decoder) (map[string]any, error) {
	object := make(map[string]any)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = decodeAny(dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return object, err
}

func decodeSlice(dec *jsontext.Decoder) ([]any, error) {
	list := make([]any, 0)
	for dec.PeekKind() != ']' {
		item, err := decodeAny(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := dec.ReadToken()
	return list, err
}

func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("number %s: %w", text, err)
	}
	return f, nil
}
