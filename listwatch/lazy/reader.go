package lazy

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/jsonfields"
	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/listwatch/protobuf"
)

// reader makes the Objects of one type and one format, and decodes what they keep.
type reader struct {
	typ    reflect.Type // T
	format format.Format
	whole  func(data []byte, into any) error // decodes into *T
	check  func(data []byte, into any) error // decodes each object when it comes; nil: none
	packer Packer                            // nil: none
	sorted bool                              // the kind of an event is among its other members

	head   *part          // the metadata, and then the named fields
	named  map[string]int // the named fields by path: their indexes in values
	values reflect.Type   // a struct of their values
	parts  sync.Map       // of other paths
}

// part decodes some members of an object.
type part struct {
	typ       reflect.Type // a struct that has only these members
	unmarshal func(data []byte, into any) error
	places    [][]int // of the members in typ
}

func newReader(typ reflect.Type, in format.Format, opts Options) (*reader, error) {
	r := &reader{typ: typ, format: in, packer: opts.Packer, named: make(map[string]int)}
	var err error
	if r.whole, err = in.Unmarshaler(typ, format.Options{}); err != nil {
		return nil, err
	}
	if !opts.Unchecked {
		// What is checked is thrown away, so a part that was in an earlier object need not be
		// decoded again.
		if r.check, err = in.Unmarshaler(typ, format.Options{ShareParts: true}); err != nil {
			return nil, err
		}
	}
	var members []wanted
	var values []reflect.StructField
	for i, field := range opts.Fields {
		path, typ := field.named()
		r.named[path] = i
		members = append(members, wanted{path, typ})
		values = append(values, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: typ})
	}
	r.values = reflect.StructOf(values)
	r.head, err = r.newHead(members)
	return r, err
}

func (r *reader) newPart(member wanted) (*part, error) {
	paths, err := r.paths(member)
	if err != nil {
		return nil, err
	}
	return r.partOf(narrow(pointee(r.typ), paths), paths, false)
}

// newHead returns a part whose first field is a struct for the metadata. It has the fields of meta
// first.
func (r *reader) newHead(members []wanted) (*part, error) {
	paths, err := r.paths(members...)
	if err != nil {
		return nil, err
	}
	var ofMeta, others [][]string
	for _, names := range paths {
		switch {
		case names[0] != "metadata":
			others = append(others, names)
		case len(names) == 1:
			return nil, errors.New("metadata: name members of it, because some of them are decoded in any case")
		default:
			ofMeta = append(ofMeta, names[1:])
		}
	}
	typ, more := pointee(r.typ), reflect.TypeFor[struct{}]()
	if len(ofMeta) > 0 {
		more = narrow(pointee(typeAt(typ, jsonfields.Index(typ, "metadata"))), ofMeta)
	}
	head, err := r.partOf(addMeta(narrow(typ, others), more), paths, true)
	if err != nil {
		return nil, err
	}
	for i, member := range members {
		at := typeAt(head.typ, head.places[i])
		if at.Kind() != member.typ.Kind() || !at.ConvertibleTo(member.typ) {
			return nil, fmt.Errorf("%s: it is %v in each object, and not %v", member.path, at, member.typ)
		}
	}
	return head, nil
}

func (r *reader) paths(members ...wanted) (paths [][]string, err error) {
	for _, member := range members {
		names, err := member.names(pointee(r.typ))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member.path, err)
		}
		paths = append(paths, names)
	}
	return paths, nil
}

// partOf returns the part for a type that has members at paths. If share is true, different objects
// share equal values.
func (r *reader) partOf(typ reflect.Type, paths [][]string, share bool) (*part, error) {
	p := &part{typ: typ}
	for _, names := range paths {
		place, err := locate(typ, names)
		if err != nil {
			// unreachable: the members were found in the whole type.
			panic("lazy: " + err.Error())
		}
		p.places = append(p.places, place)
	}
	var err error
	if _, ok := r.format.(protobuf.Format); ok {
		p.unmarshal, err = protobuf.Parts(typ, share)
	} else {
		p.unmarshal, err = r.format.Unmarshaler(typ, format.Options{ShareParts: share})
	}
	return p, err
}

// addMeta returns typ with a first field for the metadata. It has the fields of meta, and those of
// more that meta lacks.
func addMeta(typ, more reflect.Type) reflect.Type {
	own := reflect.TypeFor[meta]()
	var fields []reflect.StructField
	for i := range own.NumField() {
		fields = append(fields, own.Field(i))
	}
	for i := range more.NumField() {
		if field := more.Field(i); jsonfields.Index(own, jsonName(field)) == nil {
			fields = append(fields, field)
		}
	}
	all := []reflect.StructField{{Name: "Metadata", Type: reflect.StructOf(fields), Tag: `json:"metadata" protobuf:"bytes,1"`}}
	for i := range typ.NumField() {
		all = append(all, typ.Field(i))
	}
	return reflect.StructOf(all)
}

// receive sets what o has of the object in data, and keeps a copy of its bytes.
func (r *reader) receive(data []byte, o *content) error {
	head := reflect.New(r.head.typ)
	if err := r.head.unmarshal(data, head.Interface()); err != nil {
		return err
	}
	if r.check != nil {
		if err := r.check(data, reflect.New(r.typ).Interface()); err != nil {
			return err
		}
	}
	*o = content{from: r}
	metadata, to := head.Elem().Field(0), reflect.ValueOf(&o.meta).Elem()
	for i := range to.NumField() {
		to.Field(i).Set(metadata.Field(i))
	}
	if len(r.head.places) > 0 {
		v := reflect.New(r.values)
		for i, place := range r.head.places {
			v.Elem().Field(i).Set(follow(head.Elem(), place, v.Elem().Field(i).Type()))
		}
		o.values = v.Interface()
	}
	o.data = r.compact(data)
	if r.packer == nil {
		return nil
	}
	if packed := r.packer.Pack(o.data); len(packed) < len(o.data) {
		o.data, o.packed = packed, true
	}
	return nil
}

// compact returns a copy of an object. If it is JSON that begins with its kind and apiVersion, as
// in an event, or ends with a line break, as the answer to a Get, the copy lacks them, as an item
// of a list does.
func (r *reader) compact(data []byte) []byte {
	if _, ok := r.format.(protobuf.Format); ok {
		return bytes.Clone(data)
	}
	data = bytes.TrimRight(data, " \t\r\n")
	m := wire.MembersOf(data)
	var kept []byte
	for m.Next() {
		switch name := string(m.Name); {
		case name == "kind", name == "apiVersion":
		case r.sorted:
			kept = append(append(kept, ','), data[m.Start:m.End]...)
		default:
			kept = make([]byte, 0, 1+len(data)-m.Start)
			return append(append(kept, '{'), data[m.Start:]...)
		}
	}
	if len(kept) == 0 {
		return []byte("{}")
	}
	kept[0] = '{'
	return bytes.Clone(append(kept, '}'))
}

// isJSON reports whether the bytes of an Object are JSON, and not a message: a field with the tag {
// would be a group.
func isJSON(kept []byte) bool { return len(kept) > 0 && kept[0] == '{' }

// withoutFields are the readers of objects that come without a Format, such as from a checkpoint.
// Each type of a program has one or two. They check nothing, because the objects were checked when
// they came, unless nobody wanted to know.
var withoutFields sync.Map

func readerWithoutFields(typ reflect.Type, isJSON bool) (*reader, error) {
	type key struct {
		typ  reflect.Type
		json bool
	}
	if known, ok := withoutFields.Load(key{typ, isJSON}); ok {
		return known.(*reader), nil
	}
	var in format.Format = json.Format{}
	if !isJSON {
		in = protobuf.Format{}
	}
	made, err := newReader(typ, in, Options{Unchecked: true})
	if err != nil {
		return nil, err
	}
	known, _ := withoutFields.LoadOrStore(key{typ, isJSON}, made)
	return known.(*reader), nil
}
