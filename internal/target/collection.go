package target

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Collection splits the path of a collection, such as /api/v1/pods or
// /apis/apps/v1/namespaces/web/deployments. The namespace is empty if the path
// names none.
func Collection(path string) (of schema.GroupVersionResource, namespace string, err error) {
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
