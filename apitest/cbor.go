package apitest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

const (
	cborMediaType       = "application/cbor"
	cborStreamMediaType = "application/cbor-seq"

	// cborTag marks the bytes after it as CBOR. It stands before every answer, before every event, and before the object
	// in an event.
	cborTag = "\xd9\xd9\xf7"
)

// The major types that this file writes, of RFC 8949, section 3.1. Strings are byte strings, as from kube-apiserver.
const (
	cborBytes = 2 << 5
	cborArray = 4 << 5
	cborMap   = 5 << 5
)

// cborFormat is CBOR: whole objects of any type, custom ones too, or their PartialObjectMetadata (list-cbor.bin,
// watch-cbor.bin). kube-apiserver writes members in an order that changes each time. This server sorts them by the
// length of their names, and writes the items of a list last. Decoders must not rely on that.
type cborFormat struct {
	t    *table
	meta string // the version of meta.k8s.io in which metadata alone is sent; "" sends whole objects
}

func newCBORFormat(t *table, form form, version string) cborFormat {
	if form == metadataOnly {
		return cborFormat{t: t, meta: version}
	}
	return cborFormat{t: t}
}

func (f cborFormat) contentType(watch bool) string {
	if watch {
		return cborStreamMediaType
	}
	return cborMediaType
}

func (f cborFormat) kind() (kind, apiVersion string) {
	if f.meta != "" {
		return "PartialObjectMetadata", "meta.k8s.io/" + f.meta
	}
	return f.t.res.Kind, f.t.res.apiVersion()
}

func (f cborFormat) object(b []byte, r *revision) []byte {
	obj := f.content(r)
	obj["kind"], obj["apiVersion"] = f.kind()
	return append(append(b, cborTag...), mustCBOR(obj)...)
}

// content returns an object without kind and apiVersion.
func (f cborFormat) content(r *revision) map[string]any {
	text := append([]byte{'{'}, r.body...)
	if f.meta != "" {
		text = append(text[:1+r.meta], '}')
	}
	obj, err := decodeObject(text)
	if err != nil {
		// unreachable: newRevision wrote it, from what decodeObject or encoding/json had read.
		panic(fmt.Sprintf("apitest: decode stored %s: %v", r.key, err))
	}
	if member := f.t.res.bytesMember(); f.meta == "" && member != "" {
		decodeBytes(obj[member])
	}
	return obj
}

func (f cborFormat) listHead(b []byte, meta metav1.ListMeta, items []*revision) []byte {
	kind, apiVersion := f.kind()
	if f.meta != "" {
		meta.ShardInfo = nil // kube-apiserver does not copy it
	}
	b = appendCBORHead(append(b, cborTag...), cborMap, 4)
	b = appendCBORString(appendCBORString(b, "kind"), kind+"List")
	b = appendCBORString(appendCBORString(b, "apiVersion"), apiVersion)
	b = append(appendCBORString(b, "metadata"), mustCBOR(meta)...)
	return appendCBORHead(appendCBORString(b, "items"), cborArray, len(items))
}

func (f cborFormat) item(b []byte, _ int, r *revision) []byte {
	obj := f.content(r)
	if f.meta != "" || f.t.res.Custom {
		obj["kind"], obj["apiVersion"] = f.kind()
	}
	return append(b, mustCBOR(obj)...)
}

func (f cborFormat) listTail(b []byte) []byte { return b }

func (f cborFormat) event(b []byte, typ eventType, r *revision) []byte {
	return f.object(openCBOREvent(b, string(typ)), r)
}

func (f cborFormat) bookmark(b []byte, rv uint64, end bool) []byte {
	kind, apiVersion := f.kind()
	b = append(openCBOREvent(b, "BOOKMARK"), cborTag...)
	return append(b, mustCBOR(metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: apiVersion}, ObjectMeta: bookmarkMeta(rv, end),
	})...)
}

func (f cborFormat) status(b []byte, status *metav1.Status) []byte {
	return append(openCBOREvent(b, "ERROR"), cborStatus(status)...)
}

func cborStatus(status *metav1.Status) []byte {
	return append([]byte(cborTag), mustCBOR(status)...)
}

// openCBOREvent appends an event without its object, which comes last.
func openCBOREvent(b []byte, typ string) []byte {
	b = appendCBORHead(append(b, cborTag...), cborMap, 2)
	b = appendCBORString(appendCBORString(b, "type"), typ)
	return appendCBORString(b, "object")
}

// appendCBORHead appends the head of an item: its major type, and the number of bytes, items or pairs in it.
func appendCBORHead(b []byte, major byte, n int) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n)) // n is below 24
	case n <= 0xff:
		return append(b, major|24, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n)) // no list has 4 G items
}

func appendCBORString(b []byte, s string) []byte {
	return append(appendCBORHead(b, cborBytes, len(s)), s...)
}

// mustCBOR encodes a value that came from JSON or from apimachinery.
func mustCBOR(v any) []byte {
	b, err := direct.Marshal(v)
	if err != nil {
		// unreachable: there are strings, numbers, booleans, maps and slices, and no infinite numbers in JSON.
		panic(fmt.Sprintf("apitest: encode %T: %v", v, err))
	}
	return b
}

// bytesMember names the member of a type whose values are bytes. JSON has them as base64, and CBOR as byte strings. The
// table has the two types that tests use most. For other types, base64 is sent as text, which CBOR decoders accept,
// too.
func (r *Resource) bytesMember() string {
	switch r.root() + "/" + r.Plural {
	case "/api/v1/configmaps":
		return "binaryData"
	case "/api/v1/secrets":
		return "data"
	}
	return ""
}

// decodeBytes turns the values of a map into bytes. A value that is not base64 stays unchanged, because this server
// does not check the objects that are written to it.
func decodeBytes(member any) {
	values, _ := member.(map[string]any)
	for key, value := range values { // each is changed by itself: the order does not matter
		text, ok := value.(string)
		if !ok {
			continue
		}
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			values[key] = raw
		}
	}
}
