package writer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/relist-go/relist/object"
)

// keyOf is object.KeyOf for an interface, which may be nil.
func keyOf(obj object.Object) (string, error) {
	if obj == nil {
		return "", errors.New("there is no object")
	}
	return object.KeyOf(obj)
}

// encode returns an object as JSON, with its kind and its version.
func (w *Writer[T]) encode(obj any) ([]byte, error) {
	_, all, err := members(obj)
	if err != nil {
		return nil, err
	}
	for _, m := range []struct{ name, want string }{
		{"apiVersion", w.resource.GroupVersion().String()},
		{"kind", w.kind},
	} {
		var has string
		if raw, ok := all[m.name]; ok {
			if err := json.Unmarshal(raw, &has); err != nil {
				return nil, fmt.Errorf("%s is no string: %w", m.name, err)
			}
		}
		switch {
		case has == "" && m.want == "":
			return nil, errors.New("the object has no kind: give it one, or set Kind of the object.Type")
		case m.want == "", has == m.want:
			continue
		case has != "" && !w.partial:
			return nil, fmt.Errorf("the %s of the object is %q, and that of this Writer is %q", m.name, has, m.want)
		}
		if all[m.name], err = json.Marshal(m.want); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// members returns a value as JSON, and its members. The JSON must be an object.
func members(value any) (text []byte, all map[string]json.RawMessage, err error) {
	text, ok := value.([]byte)
	if !ok {
		if text, err = json.Marshal(value); err != nil {
			return nil, nil, err
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, nil, fmt.Errorf("a %T is encoded as something else than a JSON object: %w", value, err)
	}
	if all == nil {
		return nil, nil, fmt.Errorf("a %T is encoded as null", value)
	}
	return text, all, nil
}
