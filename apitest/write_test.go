package apitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/relist-go/relist/internal/must"
)

const inD = "/api/v1/namespaces/d/configmaps"

// object decodes an answer.
func object(t *testing.T, a answer) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return m
}

func TestWriteRules(t *testing.T) {
	for _, tt := range []struct {
		name, method, path, body string
		header                   string
		code                     int
		message                  string // a part of it
	}{
		{"create in another namespace", "POST", inD, `{"metadata":{"name":"n","namespace":"e"}}`, "", 400, "namespace of the provided object"},
		{"create outside namespaces", "POST", "/api/v1/configmaps", `{"metadata":{"name":"n"}}`, "", 405, "does not allow"},
		{"create another kind", "POST", inD, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"n"}}`, "", 400, "cannot be handled as a ConfigMap"},
		{"create with a version", "POST", inD, `{"metadata":{"name":"n","resourceVersion":"7"}}`, "", 500, "resourceVersion should not be set"},
		{"create in broken protobuf", "POST", inD, "k8s\x00", "Content-Type: application/vnd.kubernetes.protobuf", 400, "unrecognized"},
		{"create of a custom type in protobuf", "POST", "/apis/example.com/v1/namespaces/d/widgets", "k8s\x00", "Content-Type: application/vnd.kubernetes.protobuf", 415, "unknown format"},
		{"create nonsense", "POST", inD, `[`, "", 400, "unrecognized"},
		{"create too much", "POST", inD, `{"data":{"v":"` + strings.Repeat("x", maxBody) + `"}}`, "", 413, "limit is 3145728"},
		{"update at an old version", "PUT", inD + "/a", `{"metadata":{"name":"a","resourceVersion":"1"}}`, "", 409, `Operation cannot be fulfilled on configmaps "a": the object has been modified`},
		{"update of another uid", "PUT", inD + "/a", `{"metadata":{"name":"a","uid":"x"}}`, "", 409, "UID in precondition: x"},
		{"update under another name", "PUT", inD + "/a", `{"metadata":{"name":"b"}}`, "", 400, "does not match the name on the URL"},
		{"delete at an old version", "DELETE", inD + "/a", `{"preconditions":{"resourceVersion":"1"}}`, "", 409, "ResourceVersion in precondition: 1"},
		{"delete of another uid", "DELETE", inD + "/a", `{"preconditions":{"uid":"x"}}`, "", 409, "UID in precondition: x"},
		{"get at no version", "GET", inD + "/a?resourceVersion=x", ``, "", 500, "Invalid value"},
		{"get in a form of its own", "GET", inD + "/a", ``, "Accept: text/html", 406, "only the following media types"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				f.create("d/a")
				var header []string
				if tt.header != "" {
					header = append(header, tt.header)
				}
				a := f.do(tt.method, tt.path, tt.body, header...)
				if a.code != tt.code || !strings.Contains(strings.ReplaceAll(a.body, `\"`, `"`), tt.message) {
					t.Errorf("%d %s\nwant %d %s", a.code, a.body, tt.code, tt.message)
				}
				if changed := f.ResourceVersion() != "2"; changed != (tt.code < 300 && tt.method != "GET") {
					t.Errorf("the storage is at %s", f.ResourceVersion())
				}
			})
		})
	}
}

func TestServerSetsMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		const pods = "/api/v1/namespaces/d/pods"
		made := object(t, f.do("POST", pods, `{"metadata":{"generateName":"p-","labels":{}},"spec":{"x":9007199254740993}}`))
		meta := metadataOf(made)
		name := str(meta, "name")
		if len(name) != len("p-")+5 || str(meta, "namespace") != "d" || len(str(meta, "uid")) != 36 || str(meta, "creationTimestamp") != "2000-01-01T00:00:00Z" ||
			meta["generation"] != 1.0 || str(meta, "resourceVersion") != "2" || meta["labels"] != nil {
			t.Errorf("%v", meta)
		}
		// A generated name that is taken is drawn again.
		for range 2 {
			utilrand.Seed(1)
			if a := f.do("POST", pods, `{"metadata":{"generateName":"q-"}}`); a.code != http.StatusCreated {
				t.Errorf("%d %s", a.code, a.body)
			}
		}
		// The server's members stay, whatever the client sends; a change of spec counts.
		a := f.do("PUT", pods+"/"+name, `{"metadata":{"name":"`+name+`","creationTimestamp":"1999-01-01T00:00:00Z","generation":9},"spec":{"x":9007199254740992}}`)
		next := metadataOf(object(t, a))
		if next["uid"] != meta["uid"] || next["creationTimestamp"] != meta["creationTimestamp"] || next["generation"] != 2.0 {
			t.Errorf("%v", next)
		}
		if !strings.Contains(a.body, `"x":9007199254740992`) {
			t.Errorf("a whole number was rounded: %s", a.body)
		}
		// A write that changes nothing commits nothing.
		rv := f.ResourceVersion()
		f.do("PUT", pods+"/"+name, `{"metadata":{"name":"`+name+`"},"spec":{"x":9007199254740992}}`)
		if f.ResourceVersion() != rv {
			t.Error("an equal object was committed")
		}
		// Status alone, and no generation for it.
		next = object(t, f.do("PUT", pods+"/"+name+"/status", `{"metadata":{"name":"`+name+`"},"spec":{"x":0},"status":{"phase":"Running"}}`))
		if metadataOf(next)["generation"] != 2.0 || lookup(next, "spec.x") != 9007199254740992.0 || lookup(next, "status.phase") != "Running" {
			t.Errorf("%v", next)
		}
	})
}

func TestFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.do("POST", inD, `{"metadata":{"name":"a","finalizers":["x/y"]}}`)
		w := f.watch(configMaps + "&resourceVersion=2")
		a := f.do("DELETE", inD+"/a", "")
		if meta := metadataOf(object(t, a)); a.code != http.StatusOK || meta["deletionTimestamp"] == nil {
			t.Errorf("%d %v", a.code, meta)
		}
		f.do("DELETE", inD+"/a", "") // nothing more
		f.do("PATCH", inD+"/a", `{"metadata":{"finalizers":null}}`, "Content-Type: application/merge-patch+json")
		w.want("MODIFIED a@3", "DELETED a@4")
		if a := f.get(inD + "/a"); a.code != http.StatusNotFound {
			t.Errorf("afterwards: %d", a.code)
		}
	})
}

func TestDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		for _, tt := range []struct {
			method, path, body string
			code               int
		}{
			{"POST", inD, `{"metadata":{"name":"a"}}`, 409},
			{"POST", inD, `{"metadata":{"name":"b"}}`, 201},
			{"POST", inD, "metadata: {name: a}", 409},
			{"POST", inD, "metadata: {name: b}", 201},
			{"PUT", inD + "/a", `{"metadata":{"name":"a"}}`, 200},
			{"DELETE", inD + "/a", ``, 200},
			{"DELETE", inD + "/b", ``, 404},
		} {
			header := "Content-Type: application/json"
			if strings.HasPrefix(tt.body, "metadata:") {
				header = "Content-Type: application/yaml"
			}
			if a := f.do(tt.method, tt.path+"?dryRun=All", tt.body, header); a.code != tt.code {
				t.Errorf("%s %s: %d %s", tt.method, tt.path, a.code, a.body)
			}
		}
		if l := f.list("/api/v1/configmaps"); describe(l) != "2: d/a" {
			t.Error(describe(l))
		}
	})
}

func TestDirectAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		obj := configMap("d", "a", "v", "1")
		rv := must.Get[string](t)(s.Create("configmaps", obj))
		if _, ok := metadataOf(obj)["uid"]; ok {
			t.Error("the caller's object was changed")
		}
		got := must.Get[map[string]any](t)(s.Get("configmaps", "d", "a"))
		if got["kind"] != "ConfigMap" || lookup(got, "data.v") != "1" || str(metadataOf(got), "resourceVersion") != rv {
			t.Errorf("%v", got)
		}
		got["data"] = map[string]any{"v": "2"}
		rv = must.Get[string](t)(s.Update("configmaps", got))
		if _, err := s.Update("configmaps", got); !apierrors.IsConflict(err) {
			t.Errorf("update at an old version: %v", err)
		}
		if _, err := s.Create("configmaps", obj); !apierrors.IsAlreadyExists(err) {
			t.Errorf("create again: %v", err)
		}
		items, at, err := s.List("configmaps", "")
		if err != nil || at != rv || len(items) != 1 || lookup(items[0], "data.v") != "2" {
			t.Errorf("%v at %s, %v", items, at, err)
		}
		must.Get[string](t)(s.Delete("configmaps", "d", "a"))
		for _, err := range []error{
			second(s.Get("configmaps", "d", "a")), second(s.Delete("configmaps", "d", "a")), second(s.Get("nope", "d", "a")),
			second(s.Create("nope", obj)), second(s.Patch("nope", "d", "a", nil)), second(s.Update("nope", obj)), second(s.Delete("nope", "", "")),
		} {
			if !apierrors.IsNotFound(err) {
				t.Errorf("%v is no NotFound", err)
			}
		}
		if _, err := s.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "d", "name": "x"}, "data": func() {}}); err == nil {
			t.Error("a function was stored")
		}
	})
}

// Numbers of Go are what they are as JSON: an object that says the same is the same, whatever they
// are held in.
func TestUpdateWithAnotherTypeOfNumber(t *testing.T) {
	s := New(Options{})
	deployment := func(replicas any) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"namespace": "d", "name": "x"},
			"spec":     map[string]any{"replicas": replicas},
		}
	}
	created := must.Get[string](t)(s.Create("deployments.apps", deployment(3)))
	for _, three := range []any{3, int32(3), int64(3)} {
		if rv := must.Get[string](t)(s.Update("deployments.apps", deployment(three))); rv != created {
			t.Errorf("%T: the same object was committed at %s", three, rv)
		}
	}
	must.Get[string](t)(s.Update("deployments.apps", deployment(int8(4))))
	got := must.Get[map[string]any](t)(s.Get("deployments.apps", "d", "x"))
	if got := lookup(got, "metadata.generation"); got != int64(2) {
		t.Errorf("generation %v, want 2", got)
	}
}

// The race detector watches writes of several clients.
func TestWritesAtOnce(t *testing.T) {
	s := New(Options{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			path := fmt.Sprintf("/api/v1/namespaces/d/configmaps/c%d?fieldManager=me", i)
			for n := range 10 {
				body := strings.NewReader(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"n":"%d"}}`, i, n))
				req := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, path, body)
				req.Header.Set("Content-Type", "application/apply-patch+yaml")
				answer := httptest.NewRecorder()
				s.ServeHTTP(answer, req)
				if answer.Code >= 300 {
					t.Errorf("%d: %s", answer.Code, answer.Body)
				}
			}
		})
	}
	all.Wait()
}

func second[T any](_ T, err error) error { return err }

// The ports of a Service get a protocol and a target. A target that was derived from a port is then
// a value like any other.
func TestDefaultPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		const path = "/api/v1/namespaces/d/services"
		for _, step := range []struct{ method, path, media, body, want string }{
			{
				"POST", "", "", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80},{"port":53,"protocol":"UDP","targetPort":"dns"},{"port":1,"protocol":"","targetPort":0}]}}`,
				`[{"port":80,"protocol":"TCP","targetPort":80},{"port":53,"protocol":"UDP","targetPort":"dns"},{"port":1,"protocol":"TCP","targetPort":1}]`,
			},
			{
				"PATCH", "/s", "json-patch+json", `[{"op":"replace","path":"/spec/ports/0/port","value":81},{"op":"remove","path":"/spec/ports/1"},{"op":"remove","path":"/spec/ports/1"}]`,
				`[{"port":81,"protocol":"TCP","targetPort":80}]`,
			},
			{"PUT", "/s", "", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":82}]}}`, `[{"port":82,"protocol":"TCP","targetPort":82}]`},
			{"PATCH", "/s", "merge-patch+json", `{"spec":{"ports":[{"port":83},5]}}`, `[{"port":83,"protocol":"TCP","targetPort":83},5]`},
		} {
			a := f.do(step.method, path+step.path, step.body, "Content-Type: application/"+cmp.Or(step.media, "json"))
			if want := `"spec":{"ports":` + step.want + `}`; !strings.Contains(a.body, want) {
				t.Errorf("%s %s: %d %s\nwant %s", step.method, step.body, a.code, a.body, want)
			}
		}
		obj := map[string]any{"metadata": map[string]any{"namespace": "d", "name": "go"}, "spec": map[string]any{"ports": []any{map[string]any{"port": 80}}}}
		must.Get[string](t)(f.Create("services", obj))
		if port := obj["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any); len(port) != 1 {
			t.Errorf("the caller's object has become %v", obj)
		}
	})
}
