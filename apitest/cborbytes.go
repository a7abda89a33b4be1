package apitest

import (
	"encoding/base64"

	"github.com/fxamacker/cbor/v2"
)

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

// cborItems reads as deep as apimachinery's decoder does, and as long as anybody writes.
var cborItems = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxNestedLevels: 65535, MaxArrayElements: 1<<31 - 1, MaxMapPairs: 1<<31 - 1}.DecMode()
	if err != nil {
		// unreachable: the limits are those of the package.
		panic("apitest: " + err.Error())
	}
	return mode
}()

// cutCBOR takes one item off. If the bytes are not an item, it takes all of them, and whole is false.
func cutCBOR(items []byte) (item, rest []byte, whole bool) {
	var raw cbor.RawMessage
	rest, err := cborItems.UnmarshalFirst(items, &raw)
	if err != nil {
		return items, nil, false
	}
	return items[:len(items)-len(rest)], rest, true
}
