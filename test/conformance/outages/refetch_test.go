package outages

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

// The users who read. Neither may get anything.
const (
	lister = "lister" // lists and watches everything
	local  = "local"  // lists and watches in the namespace default
)

var (
	secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	pods    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	gadgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
)

// refetch is one sort of object, of a name that is its own, and how a copy that reads it is
// limited.
type refetch struct {
	object string
	gvr    schema.GroupVersionResource
	kind   string
	body   map[string]any // beside the metadata
	global bool           // it has no namespace
	user   string

	namespace, labels, fields string // that the copy is limited to

	path, query string // of the refetch

	run func(*testing.T, *world, refetch) // with the type of objects, and their encoding
}

func (f refetch) key() string {
	if f.global {
		return f.object
	}
	return key(f.object)
}

var refetches = []refetch{
	{
		object: "json", gvr: configMaps, kind: "ConfigMap", user: lister, path: "/api/v1/configmaps",
		query: `fieldSelector=metadata.namespace=default,metadata.name=json&limit=2`, run: repair[*corev1.ConfigMap](nil),
	},
	{
		object: "metadata", gvr: configMaps, kind: "ConfigMap", user: lister, path: "/api/v1/configmaps",
		query: `fieldSelector=metadata.namespace=default,metadata.name=metadata&limit=2`, run: repair[*metav1.PartialObjectMetadata](listwatch.Protobuf),
	},
	{
		object: "one-namespace", gvr: configMaps, kind: "ConfigMap", user: local, namespace: "default", path: "/api/v1/namespaces/default/configmaps",
		query: `fieldSelector=metadata.namespace=default,metadata.name=one-namespace&limit=2`, run: repair[*corev1.ConfigMap](listwatch.Protobuf),
	},
	{
		object: "no-watch-cache", gvr: secrets, kind: "Secret", user: lister, path: "/api/v1/secrets",
		query: `fieldSelector=metadata.namespace=default,metadata.name=no-watch-cache&limit=2`, run: repair[*corev1.Secret](listwatch.Protobuf),
	},
	{
		object: "labels", gvr: configMaps, kind: "ConfigMap", user: lister, labels: "team in (inside,elsewhere)", path: "/api/v1/configmaps",
		query: `labelSelector=team in (inside,elsewhere)&fieldSelector=metadata.namespace=default,metadata.name=labels&limit=2`,
		run:   repair[*corev1.ConfigMap](nil),
	},
	{
		object: "both", gvr: pods, kind: "Pod", user: local, namespace: "default", labels: "team=inside", fields: "status.phase!=Running",
		body: map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
		path: "/api/v1/namespaces/default/pods", run: repair[*corev1.Pod](listwatch.Protobuf),
		query: `labelSelector=team=inside&fieldSelector=status.phase!=Running,metadata.namespace=default,metadata.name=both&limit=2`,
	},
	{
		object: `odd=,\ :`, gvr: rolesOf("ClusterRole"), kind: "ClusterRole", global: true, user: lister, labels: "team=inside",
		path: "/apis/rbac.authorization.k8s.io/v1/clusterroles", run: repair[*rbacv1.ClusterRole](nil),
		query: `labelSelector=team=inside&fieldSelector=metadata.name=odd\=\,\\ :&limit=2`,
	},
	{
		object: `odd,a=b\,c\`, gvr: rolesOf("Role"), kind: "Role", user: local, namespace: "default",
		path: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", run: repair[*rbacv1.Role](listwatch.Protobuf),
		query: `fieldSelector=metadata.namespace=default,metadata.name=odd\,a\=b\\\,c\\&limit=2`,
	},
	{
		object: "custom", gvr: widgets, kind: "Widget", user: local, namespace: "default", labels: "team=inside",
		path: "/apis/example.com/v1/namespaces/default/widgets", run: repair[*unstructured.Unstructured](nil),
		query: `labelSelector=team=inside&fieldSelector=metadata.namespace=default,metadata.name=custom&limit=2`,
	},
	{
		object: "custom", gvr: gadgets, kind: "Gadget", global: true, user: lister, path: "/apis/example.com/v1/gadgets",
		query: `fieldSelector=metadata.name=custom&limit=2`, run: repair[*metav1.PartialObjectMetadata](listwatch.Protobuf),
	},
}

// TestRefetch: a transform fails for the newest version of an object, which is set aside, and then
// works again. The reflector asks for that object by a list with two more field selectors, and the
// server answers for every sort of resource and of name. A user who may list and watch, and not
// get, needs no further right.
func TestRefetch(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{APIServerFlags: []string{cluster.Uncached("secrets")}})
	w := newWorld(t, c, configMaps)
	w.define("widgets", "Widget", "Namespaced")
	w.define("gadgets", "Gadget", "Cluster")
	w.letRead("ClusterRole", lister)
	w.letRead("Role", local)
	for _, f := range refetches {
		t.Run(f.gvr.Resource+"/"+f.object, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			w.resource = f.gvr
			f.run(t, w, f)
		})
	}
}

var errRefused = errors.New("the transform does not work for this one")

// repair has an object of one type in one encoding set aside and fetched again.
func repair[T object.Object](encoding listwatch.Encoding) func(*testing.T, *world, refetch) {
	return func(t *testing.T, w *world, f refetch) {
		first := w.putOf(f).GetResourceVersion()
		var refuses atomic.Bool
		server, err := w.cluster.Access().HTTPClient()
		must.OK(t, err)
		t.Cleanup(server.CloseIdleConnections)
		between := &line{next: server.Transport}
		r := followOver(t, transport.Config{
			Server: w.cluster.Access().URL, BearerToken: w.cluster.Access().AdminToken, RoundTripper: between,
			Impersonate: transport.Impersonation{User: f.user},
		}, f.gvr, listwatch.Options[T]{
			Namespace: f.namespace, LabelSelector: f.labels, FieldSelector: f.fields, Encoding: encoding,
			Transform: func(obj T) (T, error) {
				if refuses.Load() && obj.GetName() == f.object {
					var none T
					return none, errRefused
				}
				return obj, nil
			},
		}, reflector.Options{})
		r.await("version "+first, func([]step) bool { return r.held()[f.key()].ResourceVersion == first })
		refuses.Store(true)
		version := w.putOf(f).GetResourceVersion()
		r.awaitQuarantine(f.key())
		refuses.Store(false)
		r.awaitQuarantine()
		r.await("version "+version, func([]step) bool { return r.held()[f.key()].ResourceVersion == version })

		want, err := url.ParseQuery(escape(f.query))
		must.OK(t, err)
		refetched := 0
		for i, req := range between.sent() {
			switch {
			case req.Method != http.MethodGet, req.URL.Path != f.path:
				t.Errorf("%s %s was sent, want nothing but GET %s", req.Method, req.URL.Path, f.path)
			case i == 0, isWatch(req):
			case req.URL.Query().Encode() == want.Encode():
				refetched++
			default:
				t.Errorf("%v was asked for, want %v", req.URL.Query(), want)
			}
		}
		if refetched == 0 {
			t.Error("the object was not asked for")
		}
	}
}

// letRead gives a user a right, and waits until the user has it, and no other.
func (w *world) letRead(kind, user string) {
	w.t.Helper()
	w.createRole(kind, user)
	w.bind(kind, user)
	theirs := w.clientOf(user).Resource(configMaps).Namespace(metav1.NamespaceDefault)
	poll(w.t, "the right of "+user, func() bool {
		_, err := theirs.List(w.t.Context(), metav1.ListOptions{})
		return err == nil
	})
	if _, err := theirs.Get(w.t.Context(), "any", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		w.t.Fatalf("%s gets a ConfigMap: %v, want 403", user, err)
	}
}

// escape makes a query out of text in which nothing but = and & is escaped.
func escape(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(part, "=")
		parts = append(parts, name+"="+url.QueryEscape(value))
	}
	return strings.Join(parts, "&")
}

// putOf makes the object of a case, or changes it.
func (w *world) putOf(f refetch) *unstructured.Unstructured {
	w.t.Helper()
	obj := w.object(f.object)
	obj.SetAPIVersion(f.gvr.GroupVersion().String())
	obj.SetKind(f.kind)
	obj.SetLabels(map[string]string{"team": "inside"})
	obj.SetAnnotations(map[string]string{"serial": fmt.Sprint(w.serial)})
	delete(obj.Object, "data")
	maps.Copy(obj.Object, f.body)
	var of dynamic.ResourceInterface = w.client.Resource(f.gvr)
	if f.global {
		obj.SetNamespace("")
	} else {
		of = w.objects()
	}
	now, err := of.Get(w.t.Context(), f.object, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		obj, err = of.Create(w.t.Context(), obj, metav1.CreateOptions{})
	} else if err == nil {
		now.SetAnnotations(obj.GetAnnotations())
		obj, err = of.Update(w.t.Context(), now, metav1.UpdateOptions{})
	}
	must.OK(w.t, err)
	return obj
}
