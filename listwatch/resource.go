package listwatch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

// Resource lists and watches one resource of an API server. It is safe for use
// by several goroutines.
type Resource[T store.Object] struct {
	client  *transport.Client
	gvr     schema.GroupVersionResource
	path    string
	what    string
	opts    Options[T]
	decoder *decoder[T]

	// kind is that of the objects, nil if it is not known. Each list tells it anew,
	// since a custom resource may be removed and made again with another kind.
	kind atomic.Pointer[string]
}

// Options of a [Resource]. The zero value means every object of every
// namespace, as it is.
type Options[T store.Object] struct {
	// Namespace limits the resource to one namespace. If empty, all namespaces
	// are meant, or the resource is cluster-scoped.
	Namespace string

	// LabelSelector and FieldSelector limit the objects, in the API's own
	// syntax: "app=web,tier!=db", "spec.nodeName=n1".
	LabelSelector string
	FieldSelector string

	// Encoding is the format that objects are asked for in, with JSON as the second
	// choice: an API server has custom resources in no other than that and CBOR. The
	// answer is read as what its Content-Type says it is. If nil, it is JSON.
	Encoding Encoding

	// Drop leaves members out of every object before it is decoded, so that they never
	// take memory: "metadata.managedFields", "status.images", and, of every element of a
	// list, "spec.containers.env". A dot in a name is written \., as in
	// `metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration`. A path
	// that leads nowhere drops nothing. One that is malformed, or would drop what says
	// which object it is, is an error of New.
	//
	// The server sends what is dropped all the same. If T has no field for it, it need
	// not be dropped: it is not decoded in any case. In protobuf, members are found by
	// the tags of T's fields (protobuf:"bytes,1,..."), as generated types have them; that
	// there are none is an error of New. So is Drop with an encoding of another package,
	// such as CBOR.
	Drop []string

	// MetadataOnly asks the server to send no more than the metadata of each object. The
	// fields of T beside it stay empty, unless the server does not know how to do that.
	// With *metav1.PartialObjectMetadata as T, it is always so.
	MetadataOnly bool

	// Transform changes an object before it is kept: it may drop what the
	// program does not need, and return another value. It runs once for every
	// object that is received, on the goroutine that decodes, but not for what
	// the caller of [KnownLister] has already. An error or a
	// panic in it is an [ObjectError]. The version of an object is taken before
	// the transform, so that clearing its resourceVersion hides no update.
	Transform func(T) (T, error)
}

// New returns a Resource that decodes objects into T: a pointer to a struct with
// JSON tags and an embedded metav1.ObjectMeta, *unstructured.Unstructured, or
// *metav1.PartialObjectMetadata, for which the server is asked to send metadata
// alone.
//
// As with client-go, structs come without kind and apiVersion (items of a list
// have none on the wire), and unstructured objects always have both.
func New[T store.Object](client *transport.Client, resource schema.GroupVersionResource, opts Options[T]) (*Resource[T], error) {
	if client == nil {
		return nil, errors.New("listwatch: no transport client")
	}
	path, err := Path(resource, opts.Namespace)
	if err != nil {
		return nil, err
	}
	decoder, err := newDecoder(opts.Transform, choose(opts.Encoding, reflect.TypeFor[T]())...)
	if err != nil {
		return nil, err
	}
	if err := decoder.drop(opts.Drop); err != nil {
		return nil, err
	}
	decoder.version = resource.GroupVersion()
	decoder.partial = decoder.partial || opts.MetadataOnly
	what := resource.GroupResource().String()
	if opts.Namespace != "" {
		what += " in " + opts.Namespace
	}
	return &Resource[T]{client: client, gvr: resource, path: path, what: what, opts: opts, decoder: decoder}, nil
}

// String names the resource as errors do: "deployments.apps in default".
func (r *Resource[T]) String() string { return r.what }

// List implements [ListWatcher].
func (r *Resource[T]) List(ctx context.Context, opts metav1.ListOptions) (*Page[T], error) {
	page, err := r.list(ctx, opts, nil)
	if err != nil {
		return nil, describe("list", r.what, err)
	}
	return page, nil
}

func (r *Resource[T]) list(ctx context.Context, opts metav1.ListOptions, known Known[T]) (*Page[T], error) {
	resp, err := r.client.Get(ctx, r.request(opts, r.decoder.acceptList()))
	if err != nil {
		return nil, err
	}
	page, err := decodeKnownPage(resp, r.decoder, known)
	if err == nil && (page.kind != "" || opts.Continue == "") {
		kind := page.kind // a pointer into the page would keep its items alive
		r.kind.Store(&kind)
	}
	return page, errors.Join(err, resp.Body.Close())
}

// expected returns what is known of the objects' kind.
func (r *Resource[T]) expected() expected {
	e := expected{partial: r.decoder.partial}
	if kind := r.kind.Load(); kind != nil {
		e.kind = *kind
	}
	return e
}

// Watch implements [ListWatcher]. It sets opts.Watch.
func (r *Resource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Watch[T], error) {
	opts.Watch = true
	stream, err := r.client.Watch(ctx, r.request(opts, r.decoder.acceptObject()))
	if err != nil {
		return nil, describe("watch", r.what, err)
	}
	kind := r.expected()
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		kind = expected{partial: kind.partial, learned: &r.kind} // this is a list in another form
	}
	w := &watch[T]{stream: stream, what: r.what, decoder: r.decoder, kind: kind}
	if stream.MediaType() != "" { // a WebSocket tells it with the first frame
		if err := w.chooseEncoding(); err != nil {
			_ = stream.Close() // the error that counts is the one above
			return nil, describe("watch", r.what, err)
		}
	}
	return w, nil
}

// request adds the resource's own selectors to those in opts.
func (r *Resource[T]) request(opts metav1.ListOptions, accept string) transport.Request {
	opts.LabelSelector = both(r.opts.LabelSelector, opts.LabelSelector)
	opts.FieldSelector = both(r.opts.FieldSelector, opts.FieldSelector)
	return transport.Request{Path: r.path, Query: queryOf(&opts), Accept: accept, Status: r.decoder.status()}
}

// both is a selector that matches what both others match. An empty one matches everything.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// Path returns the path of a collection: /api/v1/pods for the core group,
// /apis/apps/v1/namespaces/default/deployments for a group and a namespace.
// Every part is escaped, so that no name can reach another path.
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
