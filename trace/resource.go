package trace

import (
	"errors"

	"github.com/relist-go/relist/internal/target"
)

// resource is the collection that a trace is about, and the kind of its
// objects.
type resource struct {
	path       string
	kind       string
	apiVersion string
	encoding   encoding
}

// configMaps is the resource of a trace whose start line names none.
var configMaps = resource{path: "/api/v1/namespaces/default/configmaps", kind: "ConfigMap", apiVersion: "v1", encoding: jsonEncoding}

func resourceAt(path, kind string) (resource, error) {
	gvr, _, err := target.Collection(path)
	if err != nil {
		return resource{}, err
	}
	if kind == "" {
		return resource{}, errors.New("a kind cannot be empty")
	}
	return resource{path: path, kind: kind, apiVersion: gvr.GroupVersion().String(), encoding: jsonEncoding}, nil
}
