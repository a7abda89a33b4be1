package listwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// Client lists and watches one resource of an API server. Several goroutines may use it.
type Client[T object.Object] struct {
	client  *transport.Client
	gvr     schema.GroupVersionResource
	path    string
	what    string
	opts    Options[T]
	decoder *decoder[T]

	// kind is the kind of the objects, or nil if it is not known. Each whole list sets it again,
	// because a custom resource may be deleted and created again with another kind.
	kind atomic.Pointer[expected]

	labels labels.Selector // of Options.LabelSelector
	shard  *shard          // of Options.ShardSelector
}

// Options of a [Client]. With the zero value, a Client delivers every object of every
// namespace, unchanged.
type Options[T object.Object] struct {
	// Namespace limits the resource to one namespace. Leave it empty for all namespaces, and
	// for a cluster-scoped resource.
	Namespace string

	// LabelSelector and FieldSelector limit the objects, in the API's own
	// syntax: "app=web,tier!=db", "spec.nodeName=n1". New returns an error if one is malformed.
	LabelSelector string
	FieldSelector string

	// ShardSelector limits the objects to a range of hashes of their UIDs or namespaces, so that
	// several replicas of a program split one resource between them; [Shard] writes one. It is an
	// alpha feature of kube-apiserver 1.36, behind the feature gate ShardedListAndWatch. A server
	// that does not know the feature sends everything. Then the request fails with
	// [ErrShardIgnored] at the first object of another shard. https://kep.k8s.io/5866
	ShardSelector string

	// Encoding is the format in which the Client asks for objects. JSON is the second
	// choice, because an API server offers custom resources in JSON alone. The
	// Content-Type of the answer decides how it is read. If nil, JSON is used.
	Encoding Encoding

	// Drop names members that are left out of every object before it is decoded, so that they
	// never take memory: "metadata.managedFields", "status.images", or "spec.containers.env",
	// which drops env from every container. Write a dot in a name as \., as in
	// `metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration`. A path to a
	// member that does not exist drops nothing. New returns an error if a path is malformed,
	// or if it would drop a member that identifies the object, such as metadata.name.
	//
	// The server sends the dropped members all the same, except for metadata.managedFields if it
	// knows how to leave them out; the Accept header asks for that. A member for which T has no
	// field is not decoded in any case, so there is no need to drop it. In protobuf, the tags of
	// T's fields (protobuf:"bytes,1,..."), which generated types have, say where a member is; New
	// returns an error if they are missing, as in a [Raw]. New also returns an error if the
	// Encoding cannot drop members.
	Drop []string

	// MetadataOnly asks the server to send only the metadata of each object. The other fields
	// of T then stay empty, except if the server cannot do this and sends whole objects. If T
	// is *metav1.PartialObjectMetadata, the Client always asks for metadata only.
	MetadataOnly bool

	// ShareParts allows different objects to share equal parts in memory: the containers of
	// replicas, their volumes, conditions, labels of unstructured objects. It saves memory
	// and time if objects are alike; docs/performance.md has figures.
	//
	// The danger: if a program writes to an object from a store, an event or a handler, it
	// also changes other objects, among them objects that arrive later, and races with every
	// reader of those. The program must always make a DeepCopy first. Without ShareParts such
	// a write damages one object only, and only until the object's next event. Strings, which
	// cannot be written to, and the values under metadata.managedFields are shared in any
	// case. A program may replace managedFields, but must not edit them in place.
	//
	// ShareParts and Transform exclude each other.
	ShareParts bool

	// Transform changes an object before it is kept: it may remove parts that the program
	// does not need, and may return another object. It runs once for every decoded object, on
	// the goroutine that decodes. It does not run for a known object that [source.EachKnown]
	// reuses. If it returns an error, the result is a [source.ObjectError]. The metadata
	// of an object are read before the transform, so a transform that clears the
	// resourceVersion hides no update.
	Transform func(T) (T, error)
}

// New returns a Client that decodes objects into T. T is a pointer to a struct with JSON
// tags and an embedded metav1.ObjectMeta, *unstructured.Unstructured, *[Raw], or
// *metav1.PartialObjectMetadata; for the last one the Client asks the server for
// metadata alone. New decodes an object of its own into T and returns an error if a getter
// does not return the name, the UID or the resourceVersion that the object has. The error
// names the getter, and says what to write instead. GetNamespace may return "" in a type
// for cluster-scoped objects. If an object has a namespace that GetNamespace does not
// return, the result is a [source.ObjectError], because two such objects could have one key. As
// with encoding/json, a field without a tag stays empty.
//
// As in client-go, kind and apiVersion of a struct are empty, because items of a list have
// none on the wire. Unstructured objects always have both, and so has the JSON of a Raw.
func New[T object.Object](client *transport.Client, resource schema.GroupVersionResource, opts Options[T]) (*Client[T], error) {
	if client == nil {
		return nil, errors.New("listwatch: no transport client")
	}
	path, err := Path(resource, opts.Namespace)
	if err != nil {
		return nil, err
	}
	if err := checkPlural(resource.Resource); err != nil {
		return nil, err
	}
	if opts.ShareParts && opts.Transform != nil {
		return nil, errors.New("listwatch: ShareParts and Transform exclude each other: a transform would write to what other objects share")
	}
	decoder, err := newDecoder(opts.Transform, opts.Drop, opts.ShareParts, choose(opts.Encoding, reflect.TypeFor[T]())...)
	if err != nil {
		return nil, err
	}
	if err := decoder.checkType(opts.Namespace != ""); err != nil {
		return nil, err
	}
	decoder.version = resource.GroupVersion()
	decoder.partial = decoder.partial || opts.MetadataOnly
	selector, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("listwatch: LabelSelector %q: %w", opts.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(opts.FieldSelector); err != nil {
		return nil, fmt.Errorf("listwatch: FieldSelector %q: %w", opts.FieldSelector, err)
	}
	part, err := parseShard(opts.ShardSelector)
	if err != nil {
		return nil, err
	}
	what := resource.GroupResource().String()
	if opts.Namespace != "" {
		what += " in " + opts.Namespace
	}
	return &Client[T]{
		client: client, gvr: resource, path: path, what: what, opts: opts, decoder: decoder, labels: selector, shard: part,
	}, nil
}

// Itself returns c. [source.EachKnown] compares it with a ListWatcher to find out if that is a
// Client or a type that embeds one.
func (c *Client[T]) Itself() any { return c }

// String names the resource as errors do: "deployments.apps in default".
func (c *Client[T]) String() string { return c.what }

// List implements [source.ListWatcher].
func (c *Client[T]) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[T], error) {
	page, err := c.list(ctx, opts, pageOptions[T]{})
	if err != nil {
		return nil, describe("list", c.what, err)
	}
	return page, nil
}

// ListParts implements [source.PartLister]. A part has at least 256 objects or 1 MiB of bytes of
// objects, except the last one of a page.
func (c *Client[T]) ListParts(
	ctx context.Context, opts metav1.ListOptions, known func(key string) (T, object.Meta, bool), part func(source.Part[T]) error,
) (*source.Page[T], error) {
	var refused error
	page, err := c.list(ctx, opts, pageOptions[T]{known: known, part: func(p source.Part[T]) error {
		refused = part(p)
		return refused
	}})
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, describe("list", c.what, err)
	}
	return page, nil
}

func (c *Client[T]) list(ctx context.Context, opts metav1.ListOptions, want pageOptions[T]) (*source.Page[T], error) {
	if err := c.checkShardOption(&opts); err != nil {
		return nil, err
	}
	resp, err := c.client.Get(ctx, c.request(opts, c.decoder.acceptList()))
	if err != nil {
		return nil, err
	}
	want.shard, want.learn = c.shard, func(kind expected) { kind.keep(&c.kind, opts.FieldSelector != "") }
	if opts.Continue != "" {
		want.earlier = c.expected()
	}
	page, err := decodePage(resp, c.decoder, want)
	return page, errors.Join(err, resp.Body.Close())
}

// expected returns the kind of the objects, as far as earlier lists and watches have told it.
func (c *Client[T]) expected() expected {
	if kind := c.kind.Load(); kind != nil {
		return *kind
	}
	return expected{partial: c.decoder.partial}
}

// Watch implements [source.ListWatcher]. It sets opts.Watch.
func (c *Client[T]) Watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[T], error) {
	opts.Watch = true
	if err := c.checkShardOption(&opts); err != nil {
		return nil, describe("watch", c.what, err)
	}
	stream, err := c.client.Watch(ctx, c.request(opts, c.decoder.acceptObject()))
	if err != nil {
		return nil, describe("watch", c.what, err)
	}
	kind := c.expected()
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		kind = expected{partial: kind.partial} // initial events replace a list, so they tell the kind again
	}
	learn := func(kind expected) { c.kind.Store(&kind) }
	w := &watch[T]{stream: stream, what: c.what, decoder: c.decoder, kind: kind, learn: learn, shard: c.shard}
	if stream.MediaType() != "" { // the first frame of a WebSocket tells its media type
		if err := w.chooseEncoding(); err != nil {
			_ = w.Close() // the caller gets the error above
			return nil, describe("watch", c.what, err)
		}
	}
	return w, nil
}

// Get fetches the most recent state of the object under key, which is namespace/name, or
// name for a cluster-scoped object. The error is a [source.ObjectError] if the object exists but
// cannot be decoded or transformed, and satisfies apierrors.IsNotFound if it does not
// exist. Get ignores the selectors of the resource.
func (c *Client[T]) Get(ctx context.Context, key string) (T, object.Meta, error) {
	obj, meta, err := c.get(ctx, key)
	if err != nil {
		return obj, meta, describe("get "+key+" of", c.gvr.GroupResource().String(), err)
	}
	return obj, meta, nil
}

func (c *Client[T]) get(ctx context.Context, key string) (obj T, meta object.Meta, err error) {
	namespace, name, err := object.SplitKey(key)
	if err != nil {
		return obj, meta, err
	}
	path, err := Path(c.gvr, namespace)
	if err != nil {
		return obj, meta, err
	}
	resp, err := c.client.Get(ctx, transport.Request{Path: path + transport.EscapePath(name), Accept: c.decoder.acceptObject(), Status: c.decoder.status()})
	if err != nil {
		return obj, meta, err
	}
	if obj, meta, err = c.decodeAnswer(resp); err != nil {
		return obj, meta, err
	}
	if meta.Key != key {
		return obj, meta, fmt.Errorf("%w: %s instead of %s", errMalformed, meta.Key, key)
	}
	return obj, meta, nil
}

// Do sends a request whose answer is one object, and decodes the answer as Get does, within the
// same bound; package writer uses it. Do sets Accept and Status of the request. If the server has
// accepted the request but its answer cannot be used, the error says so.
func (c *Client[T]) Do(ctx context.Context, method string, req transport.Request, body []byte) (T, object.Meta, error) {
	req.Accept, req.Status = c.decoder.acceptObject(), c.decoder.status()
	resp, err := c.client.Do(ctx, method, req, body)
	if err != nil {
		return *new(T), object.Meta{}, err
	}
	obj, meta, err := c.decodeAnswer(resp)
	if err != nil {
		err = fmt.Errorf("the server has accepted the request, but its answer cannot be used: %w", err)
	}
	return obj, meta, err
}

// decodeAnswer reads the one object of an answer, and closes it.
func (c *Client[T]) decodeAnswer(resp *transport.Response) (obj T, meta object.Meta, err error) {
	defer resp.Body.Close()
	encoding := c.decoder.withMediaType(resp.MediaType)
	if encoding == nil {
		return obj, meta, resp.UnexpectedContent()
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, format.MaxObjectBytes+1))
	switch {
	case err != nil:
		return obj, meta, err
	case len(data) > format.MaxObjectBytes:
		return obj, meta, format.ErrObjectTooLarge
	}
	kind := c.expected()
	if kind.guessed {
		kind = expected{partial: kind.partial} // the request named the object
	}
	if err := kind.check(encoding.Kind(data, false)); err != nil {
		bad := refuse(encoding, data, err)
		return obj, bad.Meta, bad
	}
	obj, meta, bad := c.decoder.decode(encoding, data, schema.GroupVersionKind{})
	if bad != nil {
		return obj, meta, bad
	}
	return obj, meta, nil
}

// Metadata returns a [Client] for the metadata alone of the same objects, with the same
// selectors. It drops the same members of the metadata.
func (c *Client[T]) Metadata() (source.ListWatcher[*metav1.PartialObjectMetadata], error) {
	var drop []string
	for _, path := range c.opts.Drop {
		if strings.HasPrefix(path, "metadata.") { // metadata alone have no tags for the other members in protobuf
			drop = append(drop, path)
		}
	}
	return New(c.client, c.gvr, Options[*metav1.PartialObjectMetadata]{
		Namespace:     c.opts.Namespace,
		LabelSelector: c.opts.LabelSelector,
		FieldSelector: c.opts.FieldSelector,
		ShardSelector: c.opts.ShardSelector,
		Encoding:      c.opts.Encoding,
		Drop:          drop,
	})
}
