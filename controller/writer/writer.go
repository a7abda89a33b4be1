package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// ErrIncomplete is the error of an update whose type may lack fields of the object.
var ErrIncomplete = errors.New("the type may lack fields of the object, which would be deleted: " +
	"write single fields by Patch or Apply, or set Options.Complete if the type has every field")

// Options of a [Writer].
type Options struct {
	// FieldManager is the name under which the server notes which fields this program has written.
	// Apply requires it. For other writes, if it is empty, the server uses the beginning of the
	// User-Agent. https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
	FieldManager string

	// Force lets Apply take fields that belong to other managers. If false, such an Apply is a
	// conflict that names them.
	Force bool

	// Complete says that T has every field that the objects have, so that Update and UpdateStatus
	// may replace them whole. The types of k8s.io/api have every field if they are as new as the
	// server. Complete is not needed for Unstructured.
	Complete bool

	// DryRun asks the server to check each write and to answer as if it had made the write, but to
	// change nothing.
	DryRun bool

	// FieldValidation says what the server does with fields that it does not know. With "Strict" it
	// refuses the write. With "Warn" and "Ignore" it drops the fields, and the program is not told.
	// If empty, Strict.
	FieldValidation string

	// Timeout bounds one write, its answer included. If zero, 2 minutes, because kube-apiserver
	// gives up a write after one minute. If negative, only the context bounds it.
	Timeout time.Duration
}

const defaultTimeout = 2 * time.Minute

const mergePatchType = "application/merge-patch+json"

// Writer writes the objects of one resource. Several goroutines may use it.
type Writer[T object.Object] struct {
	client   *transport.Client
	resource schema.GroupVersionResource
	kind     string // "": the objects have it
	opts     Options
	answers  *listwatch.Client[T]
	raw      *listwatch.Client[*listwatch.Raw]
	partial  bool // T is metadata alone
}

// New returns a Writer of the objects of a type. It takes each T that [listwatch.New] takes, and
// refuses the others with the same errors. The server requires the kind of an object, and objects
// of a cache do not have it. So typ has the Kind, unless T is *unstructured.Unstructured, whose
// objects have it.
func New[T object.Object](client *transport.Client, typ object.Type, opts Options) (*Writer[T], error) {
	resource := typ.GroupVersionResource()
	answers, err := listwatch.New(client, resource, listwatch.Options[T]{})
	if err != nil {
		return nil, fmt.Errorf("writer: %w", err)
	}
	raw, err := listwatch.New(client, resource, listwatch.Options[*listwatch.Raw]{})
	if err != nil {
		return nil, fmt.Errorf("writer: %w", err)
	}
	partial := reflect.TypeFor[T]() == reflect.TypeFor[*metav1.PartialObjectMetadata]()
	var zero T
	_, keepsAll := any(zero).(interface{ UnstructuredContent() map[string]any })
	switch {
	case typ.Kind == "" && !keepsAll:
		return nil, fmt.Errorf("writer: the type of %s has no Kind: set Kind of the object.Type to that of the objects, such as ConfigMap", resource.GroupResource())
	case partial && opts.Complete:
		return nil, errors.New("writer: Complete is set, but a PartialObjectMetadata has only the metadata of an object")
	}
	opts.Complete = opts.Complete || keepsAll
	opts.FieldValidation = cmp.Or(opts.FieldValidation, "Strict")
	opts.Timeout = cmp.Or(opts.Timeout, defaultTimeout)
	return &Writer[T]{client: client, resource: resource, kind: typ.Kind, opts: opts, answers: answers, raw: raw, partial: partial}, nil
}

// Create creates an object. If an object of that name exists, apierrors.IsAlreadyExists is true for
// the error. If T lacks fields, the server fills them with its defaults. An object may have
// metadata.generateName instead of a name: then the answer has the name.
func (w *Writer[T]) Create(ctx context.Context, obj T) (T, error) {
	key, err := object.KeyOf(obj)
	if err != nil && !errors.Is(err, object.ErrNoName) {
		return *new(T), w.describe("create", "", err)
	}
	call := call{verb: "create", method: http.MethodPost, contentType: "application/json", namespace: obj.GetNamespace(), key: key}
	if call.body, err = w.encode(obj); err != nil {
		return *new(T), w.describe(call.verb, key, err)
	}
	return w.do(ctx, call)
}

// Update replaces an object, on condition that it is still as it was when obj was read: if the
// server has another resourceVersion, the error is a conflict. An obj without a resourceVersion is
// refused, because it would replace whatever is there. Update needs a type that has every field:
// see [Options].Complete.
func (w *Writer[T]) Update(ctx context.Context, obj T) (T, error) {
	return w.replace(ctx, "update", "", obj)
}

// UpdateStatus replaces the status of an object, under the conditions of Update. The server ignores
// the rest of obj.
func (w *Writer[T]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return w.replace(ctx, "update the status of", "status", obj)
}

func (w *Writer[T]) replace(ctx context.Context, verb, subresource string, obj T) (T, error) {
	key, err := object.KeyOf(obj)
	switch {
	case err != nil:
	case !w.opts.Complete:
		err = fmt.Errorf("%T: %w", obj, ErrIncomplete)
	case object.IsAnyVersion(obj.GetResourceVersion()):
		err = errors.New("the object has no resourceVersion, so what others have written meanwhile would be lost: change an object that was read")
	}
	call := call{verb: verb, method: http.MethodPut, contentType: "application/json", subresource: subresource, key: key}
	if err == nil {
		call.body, err = w.encode(obj)
	}
	if err != nil {
		return *new(T), w.describe(verb, key, err)
	}
	return w.do(ctx, call)
}

// MergePatch changes the fields that patch has, and leaves the others alone; null removes a field.
// A list is replaced whole. patch is JSON (a []byte), or a value to be encoded as JSON: a map, or a
// struct that omits its empty fields. https://www.rfc-editor.org/rfc/rfc7396
//
// If the patch has a metadata.resourceVersion and the object is at another one, the error is a
// conflict. Without one, the server patches the object in whatever state it is, so the patch must
// not depend on what was read: for that, there is Modify.
func (w *Writer[T]) MergePatch(ctx context.Context, key string, patch any) (T, error) {
	return w.mergePatch(ctx, "patch", "", key, patch)
}

// MergePatchStatus is MergePatch for the status. The patch has a member status.
func (w *Writer[T]) MergePatchStatus(ctx context.Context, key string, patch any) (T, error) {
	return w.mergePatch(ctx, "patch the status of", "status", key, patch)
}

func (w *Writer[T]) mergePatch(ctx context.Context, verb, subresource, key string, patch any) (T, error) {
	body, _, err := members(patch)
	if err != nil {
		return *new(T), w.describe(verb, key, err)
	}
	return w.do(ctx, call{verb: verb, method: http.MethodPatch, contentType: mergePatchType, subresource: subresource, key: key, body: body})
}

// Apply writes the fields that an object has, by server-side apply: it creates the object if there
// is none, leaves the fields of others alone, and removes what this FieldManager applied before and
// does not apply now. If a field belongs to another manager and has another value, the error is a
// conflict, unless Options.Force is set.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/
//
// If fields has a UID, Apply makes no object, and returns an error unless the object on the server
// has this UID.
//
// fields may be of another type than T, with only the fields that this program decides on. Every
// field in its JSON is applied, even an empty one: give the fields of the struct the tag omitempty
// or omitzero. Do not apply an object of a cache, because it also has the fields of others.
func (w *Writer[T]) Apply(ctx context.Context, fields object.Object) (T, error) {
	return w.apply(ctx, "apply", "", fields)
}

// ApplyStatus is Apply for the status.
func (w *Writer[T]) ApplyStatus(ctx context.Context, fields object.Object) (T, error) {
	return w.apply(ctx, "apply the status of", "status", fields)
}

func (w *Writer[T]) apply(ctx context.Context, verb, subresource string, fields object.Object) (T, error) {
	key, err := keyOf(fields)
	if err == nil && w.opts.FieldManager == "" {
		err = errors.New("no FieldManager is set: set Options.FieldManager to the name of this program")
	}
	call := call{verb: verb, method: http.MethodPatch, contentType: "application/apply-patch+yaml", subresource: subresource, key: key, force: w.opts.Force}
	if err == nil {
		call.body, err = w.encode(fields) // JSON is YAML
	}
	if err != nil {
		return *new(T), w.describe(verb, key, err)
	}
	return w.do(ctx, call)
}

// call is one write.
type call struct {
	verb        string // for errors
	method      string
	contentType string
	subresource string // "" for the object itself
	namespace   string // of a Create
	key         string // "" if the server makes the name
	force       bool
	body        []byte
}

// do sends a write, and returns the object that the server answers.
func (w *Writer[T]) do(ctx context.Context, c call) (T, error) { return send(ctx, w, w.answers, c) }

// send is do, with the answer in another type.
func send[A, T object.Object](ctx context.Context, w *Writer[T], answers *listwatch.Client[A], c call) (A, error) {
	path, err := w.path(c)
	if err != nil {
		return *new(A), w.describe(c.verb, c.key, err)
	}
	query := url.Values{"fieldValidation": {w.opts.FieldValidation}}
	if w.opts.FieldManager != "" {
		query.Set("fieldManager", w.opts.FieldManager)
	}
	if w.opts.DryRun {
		query.Set("dryRun", "All")
	}
	if c.force {
		query.Set("force", "true")
	}
	var obj A
	err = w.write(ctx, c, func(ctx context.Context, done *writes.Write) error {
		answer, meta, err := answers.Do(ctx, c.method, transport.Request{Path: path, Query: query, Header: http.Header{"Content-Type": {c.contentType}}}, c.body)
		if err == nil && c.key != "" && meta.Key != c.key {
			err = fmt.Errorf("the server has answered with another object, %s", meta.Key)
		}
		if err != nil {
			return err
		}
		obj, done.Key, done.UID, done.Version = answer, meta.Key, meta.UID, meta.ResourceVersion
		if labeled, ok := any(answer).(interface{ GetLabels() map[string]string }); ok {
			done.Labels, done.Labeled = labeled.GetLabels(), true
		}
		switch is := any(answer).(type) {
		case metav1.Object:
			done.Deleted = isGone(is)
		case interface{ GetDeletionTimestamp() *metav1.Time }: // a lazy object does not say whether it has finalizers
			if is.GetDeletionTimestamp() != nil {
				done.Version = "" // if it is gone, that is the version of before
			}
		}
		return nil
	})
	if err != nil {
		return *new(A), w.describe(c.verb, c.key, err)
	}
	return obj, nil
}

// write sends one write, with a context that Options.Timeout bounds. A dry run is no write.
func (w *Writer[T]) write(ctx context.Context, c call, send func(context.Context, *writes.Write) error) error {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	if w.opts.DryRun {
		return send(ctx, &writes.Write{})
	}
	if namespace, _, found := strings.Cut(c.key, "/"); found {
		c.namespace = namespace
	}
	write := writes.Write{Server: w.client.Server(), Resource: w.resource.GroupResource().String(), Namespace: c.namespace, Key: c.key}
	return writes.Do(ctx, write, func(done *writes.Write) error { return send(ctx, done) })
}

// bound returns the context of one write.
func (w *Writer[T]) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.opts.Timeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, w.opts.Timeout, fmt.Errorf("no answer within %v; the server may have done it all the same", w.opts.Timeout))
}

// path returns the path of an object or, for a Create, of the collection.
func (w *Writer[T]) path(c call) (string, error) {
	if c.method == http.MethodPost {
		return listwatch.Path(w.resource, c.namespace)
	}
	namespace, name, err := object.SplitKey(c.key)
	if err != nil {
		return "", err
	}
	path, err := listwatch.Path(w.resource, namespace)
	if err != nil {
		return "", err
	}
	path += transport.EscapePath(name)
	if c.subresource != "" {
		path += transport.EscapePath(c.subresource)
	}
	return path, nil
}

// describe says what was being done to what.
func (w *Writer[T]) describe(verb, key string, err error) error {
	what := w.resource.GroupResource().String()
	if key != "" {
		what += " " + key
	}
	return fmt.Errorf("%s %s: %w", verb, what, err)
}
