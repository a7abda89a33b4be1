package writer_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/internal/writes"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// Deployment lacks most fields of a Deployment.
type Deployment struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas int `json:"replicas,omitempty"`
	} `json:"spec,omitzero"`
	Status struct {
		ReadyReplicas int `json:"readyReplicas,omitempty"`
	} `json:"status,omitzero"`
}

var (
	deployments = object.Type{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment"}
	nodes       = object.Type{Version: "v1", Resource: "nodes", Kind: "Node", ClusterScoped: true}
)

func web(version string, replicas int) *Deployment {
	d := &Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: version}}
	d.Spec.Replicas = replicas
	return d
}

// wire is a server that notes requests and answers each alike.
type wire struct {
	*transport.Client
	requests []string
	status   int
	answer   string
	content  string
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{status: http.StatusOK, content: "application/json", answer: `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"shop","name":"web","resourceVersion":"8"},"spec":{"replicas":3,"paused":true}}`}
	client, err := transport.NewClient(transport.Config{Server: "https://api.example", RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		w.requests = append(w.requests, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Content-Type")+" "+string(body))
		return &http.Response{StatusCode: w.status, Header: http.Header{"Content-Type": {w.content}}, Body: io.NopCloser(strings.NewReader(w.answer))}, nil
	})})
	must.OK(t, err)
	w.Client = client
	return w
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newWriter[T object.Object](t *testing.T, c *transport.Client, typ object.Type, opts writer.Options) *writer.Writer[T] {
	t.Helper()
	w, err := writer.New[T](c, typ, opts)
	must.OK(t, err)
	return w
}

// with returns the options with a change.
func with(change func(*writer.Options)) writer.Options {
	var o writer.Options
	change(&o)
	return o
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestRequests(t *testing.T) {
	type W = *writer.Writer[*Deployment]
	const at, strict = " /apis/apps/v1/namespaces/shop/deployments/web", "fieldValidation=Strict"
	none := writer.Options{}
	complete := with(func(o *writer.Options) { o.Complete = true })
	manager := with(func(o *writer.Options) { o.FieldManager = "me & co" })
	for name, tt := range map[string]struct {
		opts writer.Options
		do   func(ctx context.Context, w W) (*Deployment, error)
		want string
	}{
		"create": {
			none, func(ctx context.Context, w W) (*Deployment, error) { return w.Create(ctx, web("", 3)) },
			"POST /apis/apps/v1/namespaces/shop/deployments?" + strict + ` application/json {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":3}}`,
		},
		"update": {
			complete, func(ctx context.Context, w W) (*Deployment, error) { return w.Update(ctx, web("7", 3)) },
			"PUT" + at + "?" + strict + ` application/json {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","resourceVersion":"7"},"spec":{"replicas":3}}`,
		},
		"update status": {
			complete, func(ctx context.Context, w W) (*Deployment, error) { return w.UpdateStatus(ctx, web("7", 0)) },
			"PUT" + at + "/status?" + strict + ` application/json {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","resourceVersion":"7"}}`,
		},
		"patch": {manager, func(ctx context.Context, w W) (*Deployment, error) {
			return w.MergePatch(ctx, "shop/web", map[string]any{"spec": map[string]any{"replicas": 3, "paused": nil}})
		}, "PATCH" + at + "?fieldManager=me+%26+co&" + strict + ` application/merge-patch+json {"spec":{"paused":null,"replicas":3}}`},
		"patch bytes": {none, func(ctx context.Context, w W) (*Deployment, error) {
			return w.MergePatch(ctx, "shop/web", []byte(` {"spec":{}}`))
		}, "PATCH" + at + "?" + strict + ` application/merge-patch+json  {"spec":{}}`},
		"patch status": {none, func(ctx context.Context, w W) (*Deployment, error) {
			return w.MergePatchStatus(ctx, "shop/web", json.RawMessage(`{"status":{"readyReplicas":1}}`))
		}, "PATCH" + at + "/status?" + strict + ` application/merge-patch+json {"status":{"readyReplicas":1}}`},
		"apply": {
			manager, func(ctx context.Context, w W) (*Deployment, error) { return w.Apply(ctx, web("", 3)) },
			"PATCH" + at + "?fieldManager=me+%26+co&" + strict + ` application/apply-patch+yaml {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":3}}`,
		},
		"apply status by force, dry": {
			writer.Options{FieldManager: "me", Force: true, DryRun: true, FieldValidation: "Ignore"},
			func(ctx context.Context, w W) (*Deployment, error) {
				return w.ApplyStatus(ctx, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "web"}, "status": map[string]any{"readyReplicas": int64(1)}}})
			},
			"PATCH" + at + `/status?dryRun=All&fieldManager=me&fieldValidation=Ignore&force=true application/apply-patch+yaml {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"status":{"readyReplicas":1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newWire(t)
			got, err := tt.do(t.Context(), newWriter[*Deployment](t, server.Client, deployments, tt.opts))
			must.OK(t, err)
			if got.ResourceVersion != "8" || got.Spec.Replicas != 3 {
				t.Errorf("answer %+v", got)
			}
			for i := range server.requests { // older versions of ObjectMeta have it
				server.requests[i] = strings.ReplaceAll(server.requests[i], `"creationTimestamp":null,`, "")
			}
			if diff := cmp.Diff([]string{tt.want}, server.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeleteRequests(t *testing.T) {
	const head = `DELETE /apis/apps/v1/namespaces/shop/deployments/web application/json {"kind":"DeleteOptions","apiVersion":"v1"`
	for _, tt := range []struct {
		opts writer.DeleteOptions
		dry  bool
		want string
	}{
		{writer.DeleteOptions{}, false, `}`},
		{writer.DeleteOptions{UID: "u", ResourceVersion: "7"}, false, `,"preconditions":{"uid":"u","resourceVersion":"7"}}`},
		{writer.DeleteOptions{UID: "u"}, true, `,"preconditions":{"uid":"u"},"dryRun":["All"]}`},
		{writer.DeleteOptions{GracePeriod: 1500 * time.Millisecond}, false, `,"gracePeriodSeconds":2}`},
		{writer.DeleteOptions{GracePeriod: math.MaxInt64}, false, `,"gracePeriodSeconds":9223372037}`},
		{writer.DeleteOptions{GracePeriod: -1, Propagation: metav1.DeletePropagationForeground}, false, `,"gracePeriodSeconds":0,"propagationPolicy":"Foreground"}`},
	} {
		server := newWire(t)
		server.answer = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
		w := newWriter[*Deployment](t, server.Client, deployments, with(func(o *writer.Options) { o.DryRun = tt.dry }))
		if err := w.Delete(t.Context(), "shop/web", tt.opts); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{head + tt.want}, server.requests); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
}

// What would destroy something, or cannot be right, is not sent.
func TestRefusedHere(t *testing.T) {
	server := newWire(t)
	w := newWriter[*Deployment](t, server.Client, deployments, writer.Options{})
	complete := newWriter[*Deployment](t, server.Client, deployments, with(func(o *writer.Options) { o.Complete = true }))
	_, err := w.Update(t.Context(), web("7", 3))
	wantError(t, err, "update deployments.apps shop/web: *writer_test.Deployment: the type may lack fields of the object, which would be deleted")
	if !errors.Is(err, writer.ErrIncomplete) {
		t.Error("it is not ErrIncomplete")
	}
	_, err = w.UpdateStatus(t.Context(), web("7", 3))
	wantError(t, err, "update the status of deployments.apps shop/web: *writer_test.Deployment: the type may lack fields")
	_, err = complete.Update(t.Context(), web("", 3))
	wantError(t, err, "update deployments.apps shop/web: the object has no resourceVersion")
	_, err = complete.Update(t.Context(), nil)
	wantError(t, err, "update deployments.apps: key of a *writer_test.Deployment: panic")
	_, err = w.Create(t.Context(), nil)
	wantError(t, err, "create deployments.apps: key of a")
	_, err = w.Apply(t.Context(), web("", 3))
	wantError(t, err, "apply deployments.apps shop/web: no FieldManager is set")
	_, err = w.Apply(t.Context(), nil)
	wantError(t, err, "there is no object")
	_, err = w.Apply(t.Context(), &Deployment{})
	wantError(t, err, "object has no name")
	_, err = newWriter[*Deployment](t, server.Client, deployments, writer.Options{FieldManager: "me"}).Apply(t.Context(),
		&unstructured.Unstructured{Object: map[string]any{"kind": "Secret", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}}})
	wantError(t, err, `apply deployments.apps a: the apiVersion of the object is "v1", and that of this Writer is "apps/v1"`)
	for _, patch := range []any{[]int{1}, "text", nil, []byte(`{`), []byte(`null`), []byte(`[]`), func() {}} {
		_, err = w.MergePatch(t.Context(), "shop/web", patch)
		wantError(t, err, "patch deployments.apps shop/web: ")
	}
	for _, key := range []string{"", "a/b/c", "/x", "x/", "shop/..", "../x"} {
		if err := w.Delete(t.Context(), key, writer.DeleteOptions{}); err == nil {
			t.Errorf("key %q was taken", key)
		}
	}
	if len(server.requests) > 0 {
		t.Errorf("sent %q", server.requests)
	}
}

func TestNew(t *testing.T) {
	server := newWire(t)
	_, err := writer.New[*Deployment](server.Client, object.Type{Group: "apps", Version: "v1", Resource: "deployments"}, writer.Options{})
	wantError(t, err, "writer: the type of deployments.apps has no Kind: set Kind of the object.Type to that of the objects, such as ConfigMap")
	_, err = writer.New[*Deployment](nil, deployments, writer.Options{})
	wantError(t, err, "no transport client")
	_, err = writer.New[*Deployment](server.Client, object.Type{Version: "v1", Resource: "Pod", Kind: "Pod"}, writer.Options{})
	wantError(t, err, "write the plural name")
	_, err = writer.New[*metav1.PartialObjectMetadata](server.Client, nodes, writer.Options{Complete: true})
	wantError(t, err, "has only the metadata")
	type noTag struct{ metav1.ObjectMeta }
	_, err = writer.New[*noTag](server.Client, nodes, writer.Options{})
	wantError(t, err, "writer: listwatch: ")
	if _, err = writer.New[*unstructured.Unstructured](server.Client, object.Type{Version: "v1", Resource: "nodes"}, writer.Options{}); err != nil {
		t.Error(err)
	}
}

// Something else than the object comes back. The write may have been made, and the error says that
// if it was.
func TestStrangeAnswers(t *testing.T) {
	for _, tt := range []struct {
		status                int
		content, answer, want string
	}{
		{200, "text/html", "<html>log in</html>", "patch deployments.apps shop/web: the server has accepted the request, but its answer cannot be used: patch https://api.example/apis/apps/v1/namespaces/shop/deployments/web: 200 OK with unexpected Content-Type"},
		{200, "application/json", "", "accepted the request, but"},
		{200, "application/json", "{", "accepted the request, but"},
		{200, "application/json", "null", "accepted the request, but"},
		{200, "application/json", `{"metadata":{"namespace":"shop","name":"other"}}`, "the server has answered with another object, shop/other"},
		{200, "application/json", `{"metadata":{"namespace":"shop","name":"web"},"spec":{"replicas":"many"}}`, "accepted the request, but"},
		{200, "application/json", `{"metadata":{"namespace":"shop","name":"web"},"x":"` + strings.Repeat("x", 65<<20) + `"}`, "accepted the request, but its answer cannot be used: object is larger than 64 MiB"},
		{502, "text/html", "<html>bad gateway</html>", "patch https://api.example/apis/apps/v1/namespaces/shop/deployments/web: 502"},
	} {
		server := newWire(t)
		server.status, server.content, server.answer = tt.status, tt.content, tt.answer
		got, err := newWriter[*Deployment](t, server.Client, deployments, writer.Options{}).MergePatch(t.Context(), "shop/web", []byte("{}"))
		wantError(t, err, tt.want)
		if got != nil || len(server.requests) != 1 {
			t.Errorf("%+v after %d requests", got, len(server.requests))
		}
	}
	server := newWire(t)
	server.content, server.answer = "text/html", "<html>log in</html>"
	err := newWriter[*Deployment](t, server.Client, deployments, writer.Options{}).Delete(t.Context(), "shop/web", writer.DeleteOptions{})
	wantError(t, err, "delete deployments.apps shop/web: delete https://api.example/apis/apps/v1/namespaces/shop/deployments/web: 200 OK with unexpected Content-Type")
}

// Who notes the writes of a context is told what each has done, and nothing of those that the
// server has refused.
func TestNotes(t *testing.T) {
	object := func(more string) string {
		return `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"shop","name":"web","uid":"u","resourceVersion":"8"` + more + `}}`
	}
	deletion := `,"deletionTimestamp":"2026-11-28T12:00:00Z"`
	patch := func(ctx context.Context, w *writer.Writer[*Deployment]) error {
		_, err := w.MergePatch(ctx, "shop/web", []byte(`{}`))
		return err
	}
	generate := func(ctx context.Context, w *writer.Writer[*Deployment]) error {
		_, err := w.Create(ctx, &Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "w"}})
		return err
	}
	remove := func(ctx context.Context, w *writer.Writer[*Deployment]) error {
		return w.Delete(ctx, "shop/web", writer.DeleteOptions{})
	}
	for _, tt := range []struct {
		do     func(ctx context.Context, w *writer.Writer[*Deployment]) error
		status int
		answer string
		want   []writes.Write // without Server, Resource and Namespace, which are always the same
	}{
		{patch, 200, object(`,"labels":{"a":"b"}`), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labels: map[string]string{"a": "b"}, Labeled: true}}},
		{generate, 201, object(""), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true}}},
		{generate, 503, "", []writes.Write{{Unanswered: true}}},
		{generate, 201, "{", []writes.Write{{Unanswered: true}}},
		{patch, 409, "", nil},
		{remove, 200, `{"kind":"Status","details":{"uid":"u"}}`, []writes.Write{{Key: "shop/web", UID: "u", Deleted: true}}},
		{remove, 200, object(""), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true, Deleted: true}}},
		{remove, 200, object(deletion + `,"deletionGracePeriodSeconds":0`), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true, Deleted: true}}},
		{remove, 200, object(deletion + `,"deletionGracePeriodSeconds":30`), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true}}},
		{remove, 200, object(deletion + `,"deletionGracePeriodSeconds":0,"finalizers":["a"]`), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true}}},
		{remove, 200, object(deletion), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true}}}, // a Namespace
		{patch, 200, object(deletion + `,"deletionGracePeriodSeconds":0,"finalizers":["a"]`), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true}}},
		{patch, 200, object(deletion + `,"deletionGracePeriodSeconds":0`), []writes.Write{{Key: "shop/web", UID: "u", Version: "8", Labeled: true, Deleted: true}}}, // of the last finalizer
		{remove, 404, "", nil},
	} {
		wire := newWire(t)
		wire.status, wire.answer = tt.status, tt.answer
		var got []writes.Write
		ctx := writes.WithNotes(t.Context(), func(began writes.Write) func(writes.Write) {
			return func(w writes.Write) {
				if w.Server != "https://api.example" || w.Resource != "deployments.apps" || w.Namespace != "shop" || w.Resource != began.Resource {
					t.Errorf("%+v, and before it was sent %+v", w, began)
				}
				w.Server, w.Resource, w.Namespace = "", "", ""
				got = append(got, w)
			}
		})
		err := tt.do(ctx, newWriter[*Deployment](t, wire.Client, deployments, writer.Options{}))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%d %s: (-want +got):\n%s\n%v", tt.status, tt.answer, diff, err)
		}
	}
}

// A lazy object does not say whether a finalizer keeps it. If it is being deleted, it may have gone
// with the version that it had before.
func TestNoteOfALazyObject(t *testing.T) {
	wire := newWire(t)
	wire.answer = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"shop","name":"web","resourceVersion":"8","deletionTimestamp":"2026-11-28T12:00:00Z","deletionGracePeriodSeconds":0}}`
	ctx := writes.WithNotes(t.Context(), func(writes.Write) func(writes.Write) {
		return func(w writes.Write) {
			if w.Key != "shop/web" || w.Version != "" || w.Unanswered {
				t.Errorf("noted %+v", w)
			}
		}
	})
	if _, err := newWriter[*lazy.Object[*Deployment]](t, wire.Client, deployments, writer.Options{}).MergePatch(ctx, "shop/web", []byte(`{}`)); err != nil {
		t.Error(err)
	}
}

// A server that never answers holds nobody up.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := transport.NewClient(transport.Config{Server: "https://api.example", RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		must.OK(t, err)
		for timeout, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, time.Second: time.Second, -1: time.Hour} {
			w := newWriter[*Deployment](t, client, deployments, with(func(o *writer.Options) { o.Timeout = timeout }))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			begun := time.Now()
			_, err = w.Create(ctx, web("", 1))
			if took := time.Since(begun); took != want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("timeout %v: %v after %v", timeout, err, took)
			}
			if timeout == time.Second {
				wantError(t, err, "no answer within 1s; the server may have done it all the same")
			}
			err = w.Delete(ctx, "shop/web", writer.DeleteOptions{})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("timeout %v of a deletion: %v", timeout, err)
			}
			cancel()
		}
	})
}

func serve(t *testing.T) (*apitest.Server, *transport.Client) {
	t.Helper()
	server, url := apitest.Start(t, apitest.Options{})
	client, err := transport.NewClient(transport.Config{Server: url})
	must.OK(t, err)
	t.Cleanup(client.Close)
	return server, client
}

// A life of an object, in a type that lacks most of its fields. None of them is lost.
func TestLife(t *testing.T) {
	_, client := serve(t)
	kindless := deployments
	kindless.Kind = "" // the objects have it
	whole := newWriter[*unstructured.Unstructured](t, client, kindless, writer.Options{})
	w := newWriter[*Deployment](t, client, deployments, writer.Options{FieldManager: "me"})
	ctx, ok, okWhole := t.Context(), must.Get[*Deployment](t), must.Get[*unstructured.Unstructured](t)

	created := okWhole(whole.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": "web"},
		"spec": map[string]any{"replicas": int64(1), "paused": true},
	}}))
	_, err := w.Create(ctx, web("", 1))
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second Create: %v", err)
	}
	patched := ok(w.MergePatch(ctx, "shop/web", map[string]any{
		"metadata": map[string]any{"resourceVersion": created.GetResourceVersion()}, "spec": map[string]any{"replicas": 2},
	}))
	if patched.Spec.Replicas != 2 || !object.Older(created.GetResourceVersion(), patched.ResourceVersion) {
		t.Errorf("after the patch %+v", patched)
	}
	_, err = w.MergePatch(ctx, "shop/web", map[string]any{
		"metadata": map[string]any{"resourceVersion": created.GetResourceVersion()}, "spec": map[string]any{"replicas": 9},
	})
	wantError(t, err, "patch deployments.apps shop/web: ")
	if !apierrors.IsConflict(err) {
		t.Errorf("a patch of an older state: %v", err)
	}
	created.Object["spec"].(map[string]any)["replicas"] = int64(9)
	if _, err = whole.Update(ctx, created); !apierrors.IsConflict(err) {
		t.Errorf("an update of an older state: %v", err)
	}
	_, err = w.Apply(ctx, web("", 3))
	wantError(t, err, "apply deployments.apps shop/web: ")
	wantError(t, err, ": .spec.replicas") // a patch has written it, and no apply
	if !apierrors.IsConflict(err) {
		t.Errorf("an apply of a field of somebody else: %v", err)
	}
	force := newWriter[*Deployment](t, client, deployments, writer.Options{FieldManager: "me", Force: true})
	applied := ok(force.Apply(ctx, web("", 3)))
	ready := ok(w.MergePatchStatus(ctx, "shop/web", map[string]any{"status": map[string]any{"readyReplicas": 3}}))
	if applied.Spec.Replicas != 3 || ready.Status.ReadyReplicas != 3 {
		t.Errorf("applied %+v, and then %+v", applied, ready)
	}
	now := okWhole(whole.MergePatch(ctx, "shop/web", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}))
	if paused, _, _ := unstructured.NestedBool(now.Object, "spec", "paused"); !paused {
		t.Errorf("spec.paused was lost: %v", now.Object)
	}
	now.Object["status"] = map[string]any{"readyReplicas": int64(4)}
	now = okWhole(whole.UpdateStatus(ctx, now))
	if n, _, _ := unstructured.NestedInt64(now.Object, "status", "readyReplicas"); n != 4 {
		t.Errorf("after UpdateStatus %v", now.Object)
	}
	dry := newWriter[*Deployment](t, client, deployments, writer.Options{DryRun: true})
	if err := dry.Delete(ctx, "shop/web", writer.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if got := ok(dry.MergePatch(ctx, "shop/web", []byte(`{"spec":{"replicas":7}}`))); got.Spec.Replicas != 7 {
		t.Errorf("a dry run answers %+v", got)
	}
	for _, opts := range []writer.DeleteOptions{{UID: "other"}, {ResourceVersion: "1"}} {
		if err := w.Delete(ctx, "shop/web", opts); !apierrors.IsConflict(err) {
			t.Errorf("a deletion with %+v: %v", opts, err)
		}
	}
	if err := w.Delete(ctx, "shop/web", writer.DeleteOptions{UID: now.GetUID(), ResourceVersion: now.GetResourceVersion()}); err != nil {
		t.Error(err)
	}
	if err := w.Delete(ctx, "shop/web", writer.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a second deletion: %v", err)
	}
}

// The server makes the name, and a PartialObjectMetadata has the kind of another type.
func TestNamesAndMetadata(t *testing.T) {
	_, client := serve(t)
	ctx := t.Context()
	w := newWriter[*metav1.PartialObjectMetadata](t, client, nodes, writer.Options{FieldManager: "me"})
	made := must.Get[*metav1.PartialObjectMetadata](t)(w.Create(ctx, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{GenerateName: "worker-"}}))
	if !strings.HasPrefix(made.Name, "worker-") {
		t.Errorf("created %+v", made)
	}
	labelled := must.Get[*metav1.PartialObjectMetadata](t)(w.Apply(ctx, &metav1.PartialObjectMetadata{TypeMeta: made.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: made.Name, Labels: map[string]string{"a": "b"}}}))
	if labelled.Labels["a"] != "b" {
		t.Errorf("applied %+v", labelled)
	}
	if _, err := w.Update(ctx, labelled); !errors.Is(err, writer.ErrIncomplete) {
		t.Errorf("an update of metadata: %v", err)
	}
}

// A failure of the server is not tried again.
func TestNothingIsTriedAgain(t *testing.T) {
	server, client := serve(t)
	w := newWriter[*Deployment](t, client, deployments, writer.Options{})
	for _, status := range []int{401, 409, 429, 500, 503} {
		must.OK(t, server.FailNext(apitest.Failure{Verb: "create", Status: status, RetryAfter: time.Second}))
		_, err := w.Create(t.Context(), web("", 1))
		var refused apierrors.APIStatus
		if !errors.As(err, &refused) || int(refused.Status().Code) != status {
			t.Errorf("%d: %v", status, err)
		}
	}
	if _, err := w.Create(t.Context(), web("", 1)); err != nil {
		t.Error(err)
	}
}
