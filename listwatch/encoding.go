package listwatch

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/listwatch/protobuf"
	"github.com/relist-go/relist/transport/frames"
)

// Encoding is the format in which a [Client] asks for objects: [JSON], [Protobuf],
// [Auto], or a format that the program implements itself.
type Encoding = format.Format

// The linker leaves out an encoding that a program does not name. This matters most
// for the generated protobuf code.
var (
	// JSON is the encoding that every API server has, for every resource and every type.
	JSON Encoding = json.Format{}

	// Protobuf is the encoding of the resources that are built into the API server. It
	// takes less time and fewer bytes than JSON; docs/transports.md has figures. The type
	// of the objects must have its own method Unmarshal([]byte) error. The method reads
	// the message that the type's .proto defines, without the envelope, and must not keep
	// the bytes. The types of k8s.io/api and *metav1.PartialObjectMetadata have such a
	// method.
	Protobuf Encoding = protobuf.Format{}

	// Auto is Protobuf for types that can be decoded from it, and JSON for others.
	Auto Encoding = auto{}
)

// auto is [Auto]. It only chooses between two encodings.
type auto struct{ protobuf.Format }

// Choose implements [format.Chooser].
func (a auto) Choose(typ reflect.Type) Encoding {
	if _, err := a.Unmarshaler(typ, format.Options{}); err == nil {
		return a.Format
	}
	return JSON
}

// choose returns the encodings to ask for, in order of preference.
func choose(wanted Encoding, typ reflect.Type) []Encoding {
	if c, ok := wanted.(format.Chooser); ok {
		wanted = c.Choose(typ)
	}
	wanted = cmp.Or(wanted, JSON)
	if wanted.MediaType() == JSON.MediaType() {
		return []Encoding{wanted}
	}
	if f, ok := wanted.(format.SecondChooser); ok {
		return []Encoding{wanted, f.SecondChoice()}
	}
	return []Encoding{wanted, JSON}
}

// encoded is an Encoding together with its decode function for one type.
type encoded struct {
	Encoding

	unmarshal func(object []byte, into any) error
	raw       bool // objects are decoded into *Raw, and unmarshal into a rawItem
}

// prepare returns the encodings with their decode functions for typ.
func prepare(typ reflect.Type, opts format.Options, encodings []Encoding) ([]*encoded, error) {
	var prepared []*encoded
	for _, encoding := range encodings {
		e := &encoded{Encoding: encoding, raw: isRaw(typ)}
		var err error
		if e.raw {
			e.unmarshal, err = rawUnmarshaler(encoding, opts)
		} else {
			e.unmarshal, err = encoding.Unmarshaler(typ, opts)
		}
		if err != nil {
			return nil, fmt.Errorf("listwatch: %s: %w", encoding.MediaType(), err)
		}
		prepared = append(prepared, e)
	}
	return prepared, nil
}

// parseDrop reads [Options.Drop].
func parseDrop(paths []string) ([][]string, error) {
	var parsed [][]string
	for _, path := range paths {
		names, err := wire.ParsePath(path)
		if err == nil {
			_, err = wire.NewDrop([][]string{names})
		}
		if err != nil {
			return nil, fmt.Errorf("listwatch: drop %q: %w", path, err)
		}
		parsed = append(parsed, names)
	}
	return parsed, nil
}

// withMediaType returns the encoding for a list or an object of this media type.
// withStreamMediaType does the same for a watch. Both return nil if the request did
// not ask for the media type.
func (d *decoder[T]) withMediaType(mediaType string) *encoded {
	for _, e := range d.encodings {
		if e.MediaType() == mediaType {
			return e
		}
	}
	return nil
}

func (d *decoder[T]) withStreamMediaType(mediaType string) *encoded {
	for _, e := range d.encodings {
		if e.StreamMediaType() == mediaType {
			return e
		}
	}
	return nil
}

// frames returns the formats that can find the events of a watch in its bytes.
func (d *decoder[T]) frames() []frames.Format {
	formats := make([]frames.Format, len(d.encodings))
	for i, e := range d.encodings {
		formats[i] = e
	}
	return formats
}
