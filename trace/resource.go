package trace

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// resourceAt returns the resource of a start line.
func resourceAt(path, kind string) (resource, error) {
	gvr, _, err := ParsePath(path)
	if err != nil {
		return resource{}, err
	}
	if kind == "" {
		return resource{}, errors.New("a kind cannot be empty")
	}
	return resource{path: path, kind: kind, apiVersion: gvr.GroupVersion().String(), encoding: jsonEncoding}, nil
}

// ParsePath splits the path of a collection, such as /api/v1/pods or
// /apis/apps/v1/namespaces/web/deployments. The namespace is empty if the path
// names none.
func ParsePath(path string) (of schema.GroupVersionResource, namespace string, err error) {
	fail := fmt.Errorf("%q is not the path of a collection, such as /api/v1/pods or /apis/apps/v1/namespaces/web/deployments", path)
	parts := strings.Split(path, "/")
	for i := range parts {
		if parts[i], err = url.PathUnescape(parts[i]); err != nil || (parts[i] == "") != (i == 0) {
			return of, "", fail
		}
	}
	switch {
	case len(parts) > 3 && parts[1] == "api":
		of.Version, parts = parts[2], parts[3:]
	case len(parts) > 4 && parts[1] == "apis":
		of.Group, of.Version, parts = parts[2], parts[3], parts[4:]
	default:
		return of, "", fail
	}
	switch {
	case len(parts) == 1:
		of.Resource = parts[0]
	case len(parts) == 3 && parts[0] == "namespaces":
		namespace, of.Resource = parts[1], parts[2]
	default:
		return of, "", fail
	}
	return of, namespace, nil
}
