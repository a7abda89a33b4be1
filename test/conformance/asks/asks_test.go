package asks

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
)

const rbac = "rbac.authorization.k8s.io"

var (
	configMaps          = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets             = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	pods                = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	clusterRoles        = schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: "clusterroles"}
	clusterRoleBindings = schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: "clusterrolebindings"}
	roles               = schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: "roles"}
	roleBindings        = schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: "rolebindings"}
	widgets             = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	gadgets             = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	definitions         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// Custom is an object of a custom resource.
type Custom struct {
	metav1.ObjectMeta `json:"metadata"`
}

// testCase is one way to ask.
type testCase struct {
	name string // begins the names of its objects, too, with odd behind it
	odd  string // what is odd in the names of objects

	gvr        schema.GroupVersionResource
	kind       string
	body       map[string]any // of an object, beside its metadata
	namespaced bool
	user       string // as whom the reflector asks

	within         string // the namespace that the reflector is limited to
	labels, fields string // its selectors

	// reconnect ends the watch before the events arrive, so that another one brings them.
	reconnect bool

	// leave makes an object one that is not selected any more; nil if there is no selector.
	leave func(o objects, name string)

	// path and asked are what an ask for the object "there" has to look like.
	path, asked string

	run func(o objects) // with the type of objects, and their encoding
}

// object is the name of an object.
func (c *testCase) object(role string) string { return c.name + c.odd + role }

func (c *testCase) owns(name string) bool { return strings.HasPrefix(name, c.name+c.odd) }

func (c *testCase) key(name string) string {
	if c.namespaced {
		return space + "/" + name
	}
	return name
}

// unlabel takes an object out of a label selector.
func unlabel(o objects, name string) {
	o.write(name, func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"team": "outside"}) })
}

// begin takes a Pod out of the selector of those that do not run.
func begin(o objects, name string) {
	o.write(name, func(obj *unstructured.Unstructured) {
		must(o.t, unstructured.SetNestedField(obj.Object, "Running", "status", "phase"))
	}, "status")
}

var podBody = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}

var cases = []testCase{
	{
		name: "json", gvr: configMaps, kind: "ConfigMap", namespaced: true, user: lister,
		path:  "/api/v1/configmaps",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=json-there&limit=2`,
		run:   tell[*corev1.ConfigMap](nil),
	},
	{
		name: "protobuf", gvr: configMaps, kind: "ConfigMap", namespaced: true, user: lister,
		path:  "/api/v1/configmaps",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=protobuf-there&limit=2`,
		run:   tell[*corev1.ConfigMap](listwatch.Protobuf),
	},
	{
		name: "metadata", gvr: configMaps, kind: "ConfigMap", namespaced: true, user: lister,
		path:  "/api/v1/configmaps",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=metadata-there&limit=2`,
		run:   tell[*metav1.PartialObjectMetadata](listwatch.Protobuf),
	},
	{
		name: "one-namespace", gvr: configMaps, kind: "ConfigMap", namespaced: true, user: local, within: space,
		path:  "/api/v1/namespaces/default/configmaps",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=one-namespace-there&limit=2`,
		run:   tell[*corev1.ConfigMap](nil),
	},
	{
		name: "one-namespace-protobuf", gvr: configMaps, kind: "ConfigMap", namespaced: true, user: local, within: space,
		path:  "/api/v1/namespaces/default/configmaps",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=one-namespace-protobuf-there&limit=2`,
		run:   tell[*corev1.ConfigMap](listwatch.Protobuf),
	},
	{
		name: "no-watch-cache", gvr: secrets, kind: "Secret", namespaced: true, user: lister,
		path:  "/api/v1/secrets",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=no-watch-cache-there&limit=2`,
		run:   tell[*corev1.Secret](listwatch.Protobuf),
	},
	{
		name: "labels", gvr: configMaps, kind: "ConfigMap", namespaced: true, user: lister,
		labels: "team in (inside,elsewhere)", leave: unlabel,
		path:  "/api/v1/configmaps",
		asked: `labelSelector=team in (inside,elsewhere)&fieldSelector=metadata.namespace=default,metadata.name=labels-there&limit=2`,
		run:   tell[*corev1.ConfigMap](nil),
	},
	{
		name: "reconnected", gvr: configMaps, kind: "ConfigMap", namespaced: true, user: lister,
		labels: "team=inside", leave: unlabel, reconnect: true,
		path:  "/api/v1/configmaps",
		asked: `labelSelector=team=inside&fieldSelector=metadata.namespace=default,metadata.name=reconnected-there&limit=2`,
		run:   tell[*corev1.ConfigMap](nil),
	},
	{
		name: "reconnected-without-a-watch-cache", gvr: secrets, kind: "Secret", namespaced: true, user: local, within: space,
		reconnect: true,
		path:      "/api/v1/namespaces/default/secrets",
		asked:     `fieldSelector=metadata.namespace=default,metadata.name=reconnected-without-a-watch-cache-there&limit=2`,
		run:       tell[*corev1.Secret](listwatch.Protobuf),
	},
	{
		name: "fields", gvr: pods, kind: "Pod", namespaced: true, user: lister, body: podBody,
		fields: "status.phase!=Running", leave: begin,
		path:  "/api/v1/pods",
		asked: `fieldSelector=status.phase!=Running,metadata.namespace=default,metadata.name=fields-there&limit=2`,
		run:   tell[*corev1.Pod](listwatch.Protobuf),
	},
	{
		name: "both", gvr: pods, kind: "Pod", namespaced: true, user: local, within: space, body: podBody,
		labels: "team=inside", fields: "status.phase!=Running", leave: begin,
		path:  "/api/v1/namespaces/default/pods",
		asked: `labelSelector=team=inside&fieldSelector=status.phase!=Running,metadata.namespace=default,metadata.name=both-there&limit=2`,
		run:   tell[*corev1.Pod](nil),
	},
	{
		name: "comma", odd: ",", gvr: clusterRoles, kind: "ClusterRole", user: lister, labels: "team=inside", leave: unlabel,
		path:  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		asked: `labelSelector=team=inside&fieldSelector=metadata.name=comma\,-there&limit=2`,
		run:   tell[*rbacv1.ClusterRole](nil),
	},
	{
		name: "odd", odd: `=,\ :`, gvr: clusterRoles, kind: "ClusterRole", user: lister,
		path:  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		asked: `fieldSelector=metadata.name=odd\=\,\\ :-there&limit=2`,
		run:   tell[*rbacv1.ClusterRole](listwatch.Protobuf),
	},
	{
		name: "odd", odd: `,a=b\,c\`, gvr: roles, kind: "Role", namespaced: true, user: local, within: space, labels: "team=inside", leave: unlabel,
		path:  "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
		asked: `labelSelector=team=inside&fieldSelector=metadata.namespace=default,metadata.name=odd\,a\=b\\\,c\\-there&limit=2`,
		run:   tell[*rbacv1.Role](listwatch.Protobuf),
	},
	{
		name: "custom", gvr: widgets, kind: "widgets", namespaced: true, user: lister, labels: "team=inside", leave: unlabel,
		path:  "/apis/example.com/v1/widgets",
		asked: `labelSelector=team=inside&fieldSelector=metadata.namespace=default,metadata.name=custom-there&limit=2`,
		run:   tell[*Custom](nil),
	},
	{
		name: "custom-unstructured", gvr: widgets, kind: "widgets", namespaced: true, user: local, within: space,
		path:  "/apis/example.com/v1/namespaces/default/widgets",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=custom-unstructured-there&limit=2`,
		run:   tell[*unstructured.Unstructured](nil),
	},
	{
		name: "custom-metadata", gvr: widgets, kind: "widgets", namespaced: true, user: lister,
		path:  "/apis/example.com/v1/widgets",
		asked: `fieldSelector=metadata.namespace=default,metadata.name=custom-metadata-there&limit=2`,
		run:   tell[*metav1.PartialObjectMetadata](listwatch.Protobuf),
	},
	{
		name: "custom-cluster-scoped", gvr: gadgets, kind: "gadgets", user: lister,
		path:  "/apis/example.com/v1/gadgets",
		asked: `fieldSelector=metadata.name=custom-cluster-scoped-there&limit=2`,
		run:   tell[*Custom](nil),
	},
}

// TestAsks: a transform fails for the newest version of several objects, which are set
// aside. Then events stop to arrive, the objects change again, and the transform works. The
// server is asked for each, and what it says is applied: an object that is there, that was
// deleted, that is another one of that name, or that has left the selector. When the events
// arrive at last, they say nothing new, also if they come by another watch. That may be one
// of another server, so the newest thing is asked for beside it, and found as it was.
func TestAsks(t *testing.T) {
	w := newWorld(t)
	for _, c := range cases {
		t.Run(c.gvr.Resource+"/"+c.name, func(t *testing.T) {
			here := *w
			here.t = t
			c.run(objects{&here, &c})
		})
	}
}

// tell tells the story with one type of objects in one encoding.
func tell[T named](encoding listwatch.Encoding) func(objects) {
	return func(o objects) {
		there, gone, other, left := o.object("-there"), o.object("-gone"), o.object("-other"), o.object("-left")
		all := []string{there, gone, other}
		if o.leave != nil {
			all = append(all, left)
		}
		for _, name := range all {
			o.add(name)
		}
		r := follow[T](o, encoding)
		if got, want := r.held(), o.versions(); !maps.Equal(got, want) {
			o.t.Fatalf("the first list brought %v, the server has %v", got, want)
		}

		r.refuse(all...)
		for _, name := range all {
			o.change(name)
		}
		r.awaitQuarantine(all...)
		r.line.HoldEvents()
		asked := o.change(there)
		o.remove(gone)
		o.remove(other)
		remade := o.add(other)
		if o.leave != nil {
			o.leave(o, left)
		}
		r.refuse()
		r.awaitQuarantine()
		if got, want := r.held(), o.versions(); !maps.Equal(got, want) {
			o.t.Errorf("the answers made %v of the copy, the server has %v", got, want)
		}

		if o.reconnect {
			asks := r.asks()
			r.line.CloseWatches()
			r.line.Resume()
			r.await("a question about the history", func(s reflector.Status) bool { return s.State == reflector.Watching && r.asks() > asks })
		}
		r.line.PassEvents()
		changed := o.change(there)
		late := o.object("-late")
		added := o.add(late)
		r.awaitHeld(o.versions())
		want := map[string][]string{
			o.key(there): {"update " + asked, "update " + changed},
			o.key(gone):  {"infer deletion"},
			o.key(other): {"infer deletion", "add " + remade},
			o.key(late):  {"add " + added},
		}
		if o.leave != nil {
			want[o.key(left)] = []string{"infer deletion"}
		}
		for key, changes := range want {
			if got := r.changes(key); !slices.Equal(got, changes) {
				o.t.Errorf("%s: the sink was told %q, want %q", key, got, changes)
			}
		}
		r.checkRequests(all)
	}
}

// checkRequests checks that nothing was sent but a list, a watch, and asks.
func (r *reader[T]) checkRequests(asked []string) {
	r.t.Helper()
	want, err := url.ParseQuery(escape(r.c.asked))
	must(r.t, err)
	count := map[string]int{}
	for i, req := range r.line.Requests() {
		switch {
		case req.Method != "GET", req.Path != r.c.path:
			r.t.Errorf("%s %s was sent, want nothing but GET %s", req.Method, req.Path, r.c.path)
		case i == 0, req.Watch():
			count["list or watch"]++
		default:
			count[req.Query.Encode()]++
		}
	}
	allowed := 2
	if r.c.reconnect {
		allowed++
	}
	if count["list or watch"] != allowed {
		r.t.Errorf("%d lists and watches, want %d, the first of which is the list", count["list or watch"], allowed)
	}
	delete(count, "list or watch")
	for _, name := range asked {
		query := maps.Clone(want)
		there := r.c.object("-there")
		query.Set("fieldSelector", strings.TrimSuffix(query.Get("fieldSelector"), "-there")+strings.TrimPrefix(name, strings.TrimSuffix(there, "-there")))
		if count[query.Encode()] == 0 {
			r.t.Errorf("%s was not asked for by %s", name, query)
		}
		delete(count, query.Encode())
	}
	for query := range count {
		// While the events are held, a server behind a new connection does not repeat them. So it is asked for one of the
		// newest objects, exactly at the resume version.
		got, err := url.ParseQuery(query)
		exact := got.Get("resourceVersionMatch") == "Exact" && got.Get("resourceVersion") != ""
		got.Del("resourceVersionMatch")
		got.Del("resourceVersion")
		if err != nil || !r.c.reconnect || !exact || !sameButForTheName(got, want) {
			r.t.Errorf("this was asked for, too: %s", query)
		}
	}
}

// sameButForTheName reports whether two asks differ in nothing but the value of the field selector.
func sameButForTheName(a, b url.Values) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	if !strings.Contains(a.Get("fieldSelector"), "metadata.name=") {
		return false
	}
	a.Del("fieldSelector")
	b.Del("fieldSelector")
	return maps.EqualFunc(a, b, slices.Equal[[]string])
}

// asks is how many there were.
func (r *reader[T]) asks() int {
	n := 0
	for _, req := range r.line.Requests() {
		if strings.Contains(req.Query.Get("fieldSelector"), "metadata.name=") && !req.Watch() {
			n++
		}
	}
	return n
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
