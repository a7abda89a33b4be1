package trace

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decodes returns why [Mirror] cannot read an object of a kind, or nil. What is
// wrong with such an object must be in a trace; of others, an identity will do.
func Decodes(kind string, data []byte) error {
	var into any = new(anyObject)
	if kind == configMaps.kind {
		into = new(configMap)
	}
	// As listwatch decodes: what servers have stored need not be good JSON.
	return json.Unmarshal(data, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
