package listwatch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch/internal/protowire"
	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/listwatch/protobuf"
	"github.com/relist-go/relist/object"
)

// Raw is a whole object of any kind as bytes, with its identity. It is for a program that keeps
// objects or passes them on, and does not look inside: a tree of maps, as unstructured.Unstructured
// is, takes several times the memory and the time.
//
// The bytes are those that the server sent, except in two places. The items of a list lack their
// kind and apiVersion: in JSON they get them, first of all members, as kube-apiserver writes them,
// so that an object has the same bytes from a list, from a watch and from a Get. (In protobuf none
// of the three has a kind.) Members that [Options.Drop] names are missing.
//
// A Raw must not be changed. Several goroutines may read it.
type Raw struct {
	namespace, name string
	uid             types.UID
	resourceVersion string
	data            []byte
}

// ParseRaw returns the object that data holds: its JSON, or its protobuf message, which it
// recognizes by the first byte. It copies data. It returns an error if data is not one well-formed
// object with a metadata.name, but does not check the fields of a message beyond the metadata.
func ParseRaw(data []byte) (*Raw, error) {
	raw := &Raw{}
	err := raw.Unmarshal(data)
	if err == nil && raw.name == "" {
		err = errNoName
	}
	if err != nil {
		return nil, fmt.Errorf("listwatch: parse an object: %w", err)
	}
	return raw, nil
}

// GetNamespace returns the namespace. It is "" for a cluster-scoped object.
func (r *Raw) GetNamespace() string { return r.namespace }

// GetName returns the name.
func (r *Raw) GetName() string { return r.name }

// GetUID returns the UID.
func (r *Raw) GetUID() types.UID { return r.uid }

// GetResourceVersion returns the resourceVersion.
func (r *Raw) GetResourceVersion() string { return r.resourceVersion }

// Bytes returns the object: its JSON, or its protobuf message without the envelope. The caller must
// not change them.
func (r *Raw) Bytes() []byte { return r.data }

// Size returns the number of bytes of the object.
func (r *Raw) Size() int { return len(r.data) }

// IsJSON reports whether Bytes are JSON. Otherwise they are a protobuf message.
func (r *Raw) IsJSON() bool { return len(r.data) > 0 && r.data[0] == '{' } // a field with this tag would be a group

// String returns namespace/name, or name if there is no namespace. It shows nothing of the content,
// which may be a Secret.
func (r *Raw) String() string { return object.Key(r) }

// MarshalJSON returns Bytes. It returns an error if they are not JSON.
func (r *Raw) MarshalJSON() ([]byte, error) {
	if !r.IsJSON() {
		return nil, fmt.Errorf("listwatch: the bytes of %q are not JSON", r)
	}
	return r.data, nil
}

// UnmarshalJSON keeps a copy of an object's JSON.
func (r *Raw) UnmarshalJSON(object []byte) error {
	return r.parse(object, schema.GroupVersionKind{})
}

// Marshal returns Bytes, and Unmarshal takes them. So a checkpoint of an informer has them as they
// are; encoding/json would write < in another way.
func (r *Raw) Marshal() ([]byte, error) { return r.data, nil }

// Unmarshal keeps a copy of an object: of its protobuf message, or of its JSON.
func (r *Raw) Unmarshal(data []byte) error {
	// Metadata of 123 bytes make a message begin with \n{, as JSON may.
	if isJSON(data) && (data[0] == '{' || jsontext.Value(data).IsValid(lenient)) {
		return r.parse(data, schema.GroupVersionKind{})
	}
	return r.parseMessage(data)
}

// parseMessage keeps a copy of a protobuf message. The metadata are its first field, whatever the
// kind.
func (r *Raw) parseMessage(message []byte) error {
	const metadata = 1
	err := protowire.Each(message, func(field protowire.Field) error {
		if field.Number != metadata || field.Type != protowire.Bytes {
			return nil
		}
		return protowire.Each(field.Bytes, func(protowire.Field) error { return nil })
	})
	if err != nil {
		return err
	}
	r.keep(wire.Identity(protobuf.Format{}.Identify(message)), nil, message)
	return nil
}

func isJSON(data []byte) bool {
	data = trimSpace(data)
	return len(data) > 0 && data[0] == '{'
}

func trimSpace(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

var errNotObject = errors.New("not a JSON object")

// lenient holds the rules for the inside of an object; see parse.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parse keeps a copy of an object's JSON. If the object names neither kind nor apiVersion, the copy
// gets those of kind, unless kind is empty.
//
// The object need not be good JSON inside: a name may occur twice, and strings need not be UTF-8,
// because some servers store such objects. Of two equal names in the metadata, the first counts.
func (r *Raw) parse(object []byte, kind schema.GroupVersionKind) error {
	object = trimSpace(object)
	if !isJSON(object) {
		return errNotObject
	}
	if !jsontext.Value(object).IsValid(lenient) { // the caller may have matched brackets only
		var value jsontext.Value
		err := json.Unmarshal(object, &value, lenient) // says what is wrong, and where
		return cmp.Or(err, errNotObject)
	}
	members := readTop(object)
	id, err := identify(members.metadata)
	if err != nil {
		return err
	}
	var start []byte
	if !members.kinded && !kind.Empty() {
		start, object = appendKind(make([]byte, 0, 128), kind), object[1:]
		if members.any {
			start = append(start, ',')
		}
	}
	r.keep(id, start, object)
	return nil
}

func appendKind(dst []byte, kind schema.GroupVersionKind) []byte {
	version, word := kind.ToAPIVersionAndKind()
	dst = append(dst, `{"kind":`...)
	dst, _ = jsontext.AppendQuote(dst, word) // what is not UTF-8 is replaced
	dst = append(dst, `,"apiVersion":`...)
	dst, _ = jsontext.AppendQuote(dst, version)
	return dst
}

// keep copies what is kept of an object whose bytes are start and rest. The four texts are one
// allocation.
func (r *Raw) keep(id wire.Identity, start, rest []byte) {
	text := string(id.Namespace) + string(id.Name) + string(id.UID) + string(id.ResourceVersion)
	next := func(part []byte) string {
		s := text[:len(part)]
		text = text[len(part):]
		return s
	}
	*r = Raw{
		namespace:       next(id.Namespace),
		name:            next(id.Name),
		uid:             types.UID(next(id.UID)),
		resourceVersion: next(id.ResourceVersion),
		data:            make([]byte, len(start)+len(rest)),
	}
	copy(r.data[copy(r.data, start):], rest)
}

// top is what the members of an object say.
type top struct {
	metadata []byte // nil: none
	kinded   bool   // there is a kind or an apiVersion
	any      bool   // there is any member
}

// readTop reads the members of an object, and stops when it knows enough. The object must be JSON.
func readTop(object []byte) (t top) {
	for m := wire.MembersOf(object); (t.metadata == nil || !t.kinded) && m.Next(); {
		t.any = true
		switch string(m.Name) {
		case "kind", "apiVersion":
			t.kinded = true
		case "metadata":
			if t.metadata == nil {
				t.metadata = m.Value
			}
		}
	}
	return t
}

// identify reads what identifies an object. It is strict where [wire.IdentityOf] is lenient: a
// member that is there and not a string is an error, because the object would be taken for another.
func identify(metadata []byte) (id wire.Identity, err error) {
	switch {
	case len(metadata) == 0 || metadata[0] == 'n': // null
		return id, nil
	case metadata[0] != '{':
		return id, errors.New("metadata is not an object")
	}
	for m := wire.MembersOf(metadata); !id.Complete() && m.Next(); {
		field := id.Field(m.Name)
		switch {
		case field == nil || *field != nil || m.Value[0] == 'n':
		case m.Value[0] != '"':
			return id, fmt.Errorf("metadata.%s is not a string", m.Name)
		default:
			*field = m.Text()
		}
	}
	return id, nil
}
