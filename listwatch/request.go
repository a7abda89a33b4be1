package listwatch

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/transport"
)

// request adds the resource's own selectors to those in opts.
func (c *Client[T]) request(opts metav1.ListOptions, accept string) transport.Request {
	if c.shard.selector != "" {
		opts.ShardSelector = c.shard.selector
	}
	opts.LabelSelector = both(c.opts.LabelSelector, opts.LabelSelector)
	opts.FieldSelector = both(c.opts.FieldSelector, opts.FieldSelector)
	return transport.Request{Path: c.path, Query: queryOf(&opts), Accept: accept, Frames: c.decoder.frames(), Status: c.decoder.status()}
}

// both returns a selector that matches an object if a and b match it. An empty selector matches
// everything.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// Path returns the path of a collection: /api/v1/pods for the core group,
// /apis/apps/v1/namespaces/default/deployments for a group and a namespace. Every part is escaped,
// so no name can lead to another path.
func Path(resource schema.GroupVersionResource, namespace string) (string, error) {
	for _, part := range []string{resource.Group, resource.Version, resource.Resource, namespace} {
		if part == "." || part == ".." {
			return "", fmt.Errorf("listwatch: %q cannot be part of the path of %s", part, resource)
		}
	}
	if resource.Version == "" || resource.Resource == "" {
		return "", fmt.Errorf("listwatch: resource %q needs a version and a plural name, such as v1 and pods", resource)
	}
	segments := []string{"api"}
	if resource.Group != "" {
		segments = []string{"apis", resource.Group}
	}
	segments = append(segments, resource.Version)
	if namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	return transport.EscapePath(append(segments, resource.Resource)...), nil
}

// checkPlural returns an error if a resource has capital letters, because it is a kind then: the
// server would answer 404. The plural name of a resource is in lower case.
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
func checkPlural(resource string) error {
	lower := strings.ToLower(resource)
	if lower == resource {
		return nil
	}
	return fmt.Errorf("listwatch: resource %q is a kind; write the plural name in lower case, which is probably %q (kubectl api-resources shows it)", resource, plural(lower))
}

// plural guesses the plural of an English word. A word that ends in s may be one already.
func plural(word string) string {
	ends := func(suffixes ...string) bool {
		return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(word, suffix) })
	}
	switch {
	case ends("ss", "x", "ch", "sh"):
		return word + "es"
	case ends("s"):
		return word
	case ends("y") && !ends("ay", "ey", "oy", "uy"):
		return strings.TrimSuffix(word, "y") + "ies"
	}
	return word + "s"
}

// queryOf returns the parameters of a request. It leaves out empty options, but not pointers to a
// zero value, because timeoutSeconds=0 and sendInitialEvents=false have a meaning.
func queryOf(opts *metav1.ListOptions) url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	flag := func(name string, on bool) {
		if on {
			query.Set(name, "true")
		}
	}
	set("labelSelector", opts.LabelSelector)
	set("fieldSelector", opts.FieldSelector)
	flag("watch", opts.Watch)
	flag("allowWatchBookmarks", opts.AllowWatchBookmarks)
	set("resourceVersion", opts.ResourceVersion)
	set("resourceVersionMatch", string(opts.ResourceVersionMatch))
	if opts.TimeoutSeconds != nil {
		query.Set("timeoutSeconds", strconv.FormatInt(*opts.TimeoutSeconds, 10))
	}
	if opts.Limit != 0 {
		query.Set("limit", strconv.FormatInt(opts.Limit, 10))
	}
	set("continue", opts.Continue)
	set("shardSelector", opts.ShardSelector)
	if opts.SendInitialEvents != nil {
		query.Set("sendInitialEvents", strconv.FormatBool(*opts.SendInitialEvents))
	}
	return query
}

// The parameters of
// https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches.
const (
	asMetadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	asMetadata     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// withoutManaged asks the server to leave managedFields out, which are up to 60 % of an object.
// kube-apiserver 1.38 obeys in every format and for every verb if its feature gate
// ManagedFieldsOptOut is on. Other servers ignore the parameter, so objects are decoded without
// managedFields in any case. The server would ignore the other paths of [Options.Drop], and they
// are not sent. https://kep.k8s.io/5958
const withoutManaged = ";drop=metadata.managedFields"

// acceptList returns the Accept header of a list, and acceptObject that of a watch or a GET. The
// header names each encoding in order of preference. If metadata alone is wanted, the encodings of
// metadata come first, and those of whole objects follow for servers that cannot send metadata
// alone.
func (d *decoder[T]) acceptList() string   { return d.accept(asMetadataList) }
func (d *decoder[T]) acceptObject() string { return d.accept(asMetadata) }

func (d *decoder[T]) accept(metadata string) string {
	var drop string
	if d.unmanaged {
		drop = withoutManaged
	}
	var types []string
	for _, e := range d.encodings {
		if d.partial {
			types = append(types, e.MediaType()+metadata+drop)
		}
	}
	for _, e := range d.encodings {
		types = append(types, e.MediaType()+drop)
	}
	return strings.Join(types, ",")
}

// status returns the function that reads the Status of a refused request, because a server may
// refuse in any encoding that was asked for. It returns nil if that can only be JSON, which
// transport reads itself.
func (d *decoder[T]) status() func(body []byte) (metav1.Status, error) {
	if len(d.encodings) == 1 && d.encodings[0].MediaType() == JSON.MediaType() {
		return nil
	}
	return func(body []byte) (metav1.Status, error) {
		for _, e := range d.encodings {
			if e.MediaType() == JSON.MediaType() {
				continue
			}
			if status, ok := e.Status(body); ok {
				return status, nil
			}
		}
		return metav1.Status{}, errNoStatus
	}
}

var errNoStatus = errors.New("not a Status in an encoding that was asked for")
