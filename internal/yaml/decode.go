package yaml

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Decode puts n into what into points to. Fields are found by their json tags, in the
// case that they are written in; what has no field is skipped. A string takes any scalar
// as it is written, bytes are base64, a pointer is made, a *Node is the value itself, and
// null changes nothing. Strings, bools, slices, maps of strings to these, structs and
// pointers is what there is of types.
func (n *Node) Decode(into any) error { return n.decode(reflect.ValueOf(into).Elem(), "") }

func (n *Node) decode(v reflect.Value, path string) error {
	is := n.is()
	if is == isNull {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if node, ok := v.Addr().Interface().(**Node); ok {
			*node = n
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return n.decode(v.Elem(), path)
	case reflect.String:
		if n.kind == scalar {
			v.SetString(n.text)
			return nil
		}
	case reflect.Bool:
		if is == isBool {
			v.SetBool(slices.Contains(truths, n.text))
			return nil
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if is == isString {
				return n.decodeBytes(v)
			}
		} else if is == isArray {
			return n.decodeItems(v, path)
		}
	case reflect.Map:
		if is == isObject {
			return n.decodeMap(v, path)
		}
	case reflect.Struct:
		if is == isObject {
			return n.decodeStruct(v, path)
		}
	default:
		return fmt.Errorf("yaml: %s has the type %v, which nothing is decoded into", path, v.Type())
	}
	if path == "" {
		path = "the file"
	}
	return fmt.Errorf("yaml: %s is of the wrong type (%s)", path, is)
}

func (n *Node) decodeBytes(v reflect.Value) error {
	data, err := base64.StdEncoding.DecodeString(n.text)
	if err != nil {
		return fmt.Errorf("yaml: a field that ends in -data: %w", err)
	}
	v.SetBytes(data)
	return nil
}

func (n *Node) decodeItems(v reflect.Value, path string) error {
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		if err := item.decode(v.Index(i), path); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) decodeMap(v reflect.Value, path string) error {
	v.Set(reflect.MakeMap(v.Type()))
	for _, key := range n.keys() {
		value := reflect.New(v.Type().Elem()).Elem()
		if err := n.get(key).decode(value, path); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key), value)
	}
	return nil
}

func (n *Node) decodeStruct(v reflect.Value, path string) error {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if value := n.get(name); value != nil && name != "" {
			if err := value.decode(v.Field(i), under(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
