package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
)

const applyPatch = "Content-Type: application/apply-patch+yaml"

// apply applies fields of the object at path.
func (f *fixture) apply(path, manager, fields string, query ...string) answer {
	f.Helper()
	return f.do("PATCH", path+"?fieldManager="+manager+strings.Join(query, ""), fields, applyPatch)
}

// data applies data of the ConfigMap a.
func (f *fixture) data(manager, data string, query ...string) answer {
	f.Helper()
	return f.apply(inD+"/a", manager, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: "+data+"}", query...)
}

// owners returns the managers of an object: manager operation fields.
func owners(t *testing.T, a answer) []string {
	t.Helper()
	var obj metav1.PartialObjectMetadata
	must.OK(t, json.Unmarshal([]byte(a.body), &obj))
	var all []string
	for _, m := range obj.ManagedFields {
		if m.FieldsType != "FieldsV1" || m.Time == nil || m.APIVersion == "" {
			t.Errorf("entry %+v", m)
		}
		where := ""
		if m.Subresource != "" {
			where = "/" + m.Subresource
		}
		all = append(all, fmt.Sprintf("%s %s%s %s", m.Manager, m.Operation, where, m.FieldsV1.GetRawString()))
	}
	return all
}

func (f *fixture) expectOwners(a answer, code int, data map[string]any, want ...string) {
	f.Helper()
	if a.code != code {
		f.Fatalf("%d %s, want %d", a.code, a.body, code)
	}
	if diff := cmp.Diff(any(data), object(f.T, a)["data"]); diff != "" {
		f.Errorf("data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, owners(f.T, a)); diff != "" {
		f.Errorf("owners (-want +got):\n%s", diff)
	}
}

// Two managers may apply the same field with the same value. With another value, it is a conflict,
// unless one forces it.
func TestFieldOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.expectOwners(f.data("one", `{x: "1", u: "1"}`), 201, map[string]any{"x": "1", "u": "1"},
			`one Apply {"f:data":{"f:u":{},"f:x":{}}}`)
		<-time.After(time.Second)
		f.expectOwners(f.data("two", `{x: "1", z: "2"}`), 200, map[string]any{"x": "1", "u": "1", "z": "2"},
			`one Apply {"f:data":{"f:u":{},"f:x":{}}}`, `two Apply {"f:data":{"f:x":{},"f:z":{}}}`)

		a := f.data("two", `{x: "3", u: "3", z: "3"}`)
		var status metav1.Status
		must.OK(t, json.Unmarshal([]byte(a.body), &status))
		want := metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
			Message: "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.u\n- .data.x",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "one"`, Field: ".data.u"},
				{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "one"`, Field: ".data.x"},
			}},
		}
		if diff := cmp.Diff(want, status); diff != "" || a.code != http.StatusConflict {
			t.Errorf("%d (-want +got):\n%s", a.code, diff)
		}

		f.expectOwners(f.data("two", `{x: "3", z: "3"}`, "&force=true"), 200, map[string]any{"x": "3", "u": "1", "z": "3"},
			`one Apply {"f:data":{"f:u":{}}}`, `two Apply {"f:data":{"f:x":{},"f:z":{}}}`)

		// What two does not apply any more goes, and what one owns stays.
		before := f.ResourceVersion()
		f.expectOwners(f.data("two", `{x: "3"}`), 200, map[string]any{"x": "3", "u": "1"},
			`one Apply {"f:data":{"f:u":{}}}`, `two Apply {"f:data":{"f:x":{}}}`)
		after := f.ResourceVersion()
		<-time.After(time.Hour)
		f.expectOwners(f.data("two", `{x: "3"}`), 200, map[string]any{"x": "3", "u": "1"},
			`one Apply {"f:data":{"f:u":{}}}`, `two Apply {"f:data":{"f:x":{}}}`)
		if again := f.ResourceVersion(); before == after || again != after {
			t.Errorf("versions %s, %s, %s: the same apply twice changes nothing", before, after, again)
		}
		if a := f.data("three", `{u: null}`, "&dryRun=All"); a.code != http.StatusConflict {
			t.Errorf("a dry run of a conflict: %d %s", a.code, a.body)
		}
	})
}

// Whoever writes an applied object in another way owns what the write changes.
func TestUpdatesOwnFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.data("one", `{x: "1", u: "1"}`)
		<-time.After(time.Second)
		a := f.do("PATCH", inD+"/a", `{"data":{"x":"2","z":"2"}}`, "Content-Type: application/merge-patch+json", "User-Agent: kubectl/v1.36 (linux)")
		f.expectOwners(a, 200, map[string]any{"x": "2", "u": "1", "z": "2"},
			`one Apply {"f:data":{"f:u":{}}}`, `kubectl Update {"f:data":{"f:x":{},"f:z":{}}}`)

		a = f.data("one", `{x: "1", u: "1"}`)
		if want := `Apply failed with 1 conflict: conflict with \"kubectl\" using v1: .data.x`; a.code != http.StatusConflict || !strings.Contains(a.body, want) {
			t.Errorf("%d %s, want %s", a.code, a.body, want)
		}

		// Whatever a client calls itself, JSON can have it.
		a = f.do("PATCH", inD+"/a?dryRun=All", `{"data":{"x":"9"}}`, "Content-Type: application/merge-patch+json", "User-Agent: \xff\xfe")
		if a.code != http.StatusOK || !strings.Contains(a.body, "\uFFFD") {
			t.Errorf("%d %s", a.code, a.body)
		}

		// A PUT of what was read keeps the owners, also if it leaves them out.
		obj := object(t, f.get(inD+"/a"))
		delete(metadataOf(obj), "managedFields")
		obj["data"] = map[string]any{"x": "2", "z": "2"}
		f.expectOwners(f.do("PUT", inD+"/a?fieldManager=put", string(mustJSON(obj)), "Content-Type: application/json"), 200, map[string]any{"x": "2", "z": "2"},
			`kubectl Update {"f:data":{"f:x":{},"f:z":{}}}`)

		<-time.After(time.Second)
		if _, err := f.Patch("configmaps", "d", "a", map[string]any{"data": map[string]any{"z": "3"}}); err != nil {
			t.Fatal(err)
		}
		f.expectOwners(f.get(inD+"/a"), 200, map[string]any{"x": "2", "z": "3"},
			`kubectl Update {"f:data":{"f:x":{}}}`, `apitest Update {"f:data":{"f:z":{}}}`)
	})
}

// A client may write the owners: a program that used updates becomes one that applies in this way.
// An empty entry clears them. Whatever else is no list of owners changes nothing.
func TestOwnersThatAClientWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.data("one", `{x: "1"}`)
		f.do("PATCH", inD+"/a?fieldManager=old", `{"data":{"u":"1","z":"1"}}`, "Content-Type: application/merge-patch+json")
		all := map[string]any{"x": "1", "u": "1", "z": "1"}
		a := f.get(inD + "/a")
		f.expectOwners(a, 200, all, `one Apply {"f:data":{"f:x":{}}}`, `old Update {"f:data":{"f:u":{},"f:z":{}}}`)

		patch := func(path, managedFields string) answer {
			f.Helper()
			return f.do("PATCH", path, `[{"op":"replace","path":"/metadata/managedFields","value":`+managedFields+`}]`, "Content-Type: application/json-patch+json")
		}
		before := f.ResourceVersion()
		for _, junk := range []string{
			`[]`, `[{},{}]`, `[1]`, `[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV2","fieldsV1":{"f:data":{}}}]`,
			`[{"manager":"m","operation":"Own","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]`,
			`[{"manager":"m","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]`,
		} {
			if a := patch(inD+"/a", junk); a.code == http.StatusOK && !slices.Equal(owners(t, a), owners(t, f.get(inD+"/a"))) {
				t.Errorf("%s: %d %s", junk, a.code, a.body)
			}
		}
		if after := f.ResourceVersion(); before != after {
			t.Errorf("version %s, want %s", after, before)
		}

		const taken = `[{"manager":"new","operation":"Apply","apiVersion":"v1","time":"2000-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:u":{},"f:z":{}}}}]`
		f.expectOwners(patch(inD+"/a", taken), 200, all, `new Apply {"f:data":{"f:u":{},"f:z":{}}}`)
		f.expectOwners(f.data("new", `{u: "2"}`), 200, map[string]any{"x": "1", "u": "2"}, `new Apply {"f:data":{"f:u":{}}}`)

		f.expectOwners(patch(inD+"/a", `[{}]`), 200, map[string]any{"x": "1", "u": "2"})
		a = f.do("PATCH", inD+"/a", `{"data":{"x":"2"}}`, "Content-Type: application/merge-patch+json")
		f.expectOwners(a, 200, map[string]any{"x": "2", "u": "2"})
		f.expectOwners(f.data("new", `{w: "1"}`), 200, map[string]any{"x": "2", "u": "2", "w": "1"},
			`new Apply {"f:data":{"f:w":{}}}`, `before-first-apply Update {"f:data":{"f:u":{},"f:x":{}}}`)
	})
}

// The status is written apart from the owners.
func TestOwnersInAWriteOfTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		const path = "/apis/example.com/v1/namespaces/d/widgets/w"
		a := f.apply(path, "one", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 1}}")
		want := owners(t, a)
		a = f.do("PATCH", path+"/status", `{"metadata":{"managedFields":[{}]}}`, "Content-Type: application/merge-patch+json")
		if got := owners(t, a); a.code != http.StatusOK || !slices.Equal(got, want) {
			t.Errorf("%d: owners %q, want %q", a.code, got, want)
		}
	})
}

// Whoever is late applies to the object that another one has just made. An apply is never told that
// the object exists.
func TestAppliesAtOnce(t *testing.T) {
	f := serve(t, Options{})
	for round := range 50 {
		var all sync.WaitGroup
		path := fmt.Sprint(inD, "/r", round)
		for i := range 4 {
			all.Go(func() {
				fields := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, data: {x%d: '1'}}", i)
				if a := f.apply(path, fmt.Sprint("m", i), fields); a.code != http.StatusOK && a.code != http.StatusCreated {
					t.Errorf("%d %s", a.code, a.body)
				}
			})
		}
		all.Wait()
	}
}

// Two who apply the same ports of a Service are no conflict, although the first has got defaults.
func TestDefaultsAreNoConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		const path = "/api/v1/namespaces/d/services"
		f.do(http.MethodPost, path, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`)
		apply := func(manager, port string) answer {
			return f.apply(path+"/s", manager, "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: "+port+"}]}}")
		}
		apply("one", "80")
		const ports = ` {"f:spec":{"f:ports":{}}}`
		if diff := cmp.Diff([]string{"one Apply" + ports, "two Apply" + ports, "before-first-apply Update" + ports}, owners(t, apply("two", "80"))); diff != "" {
			t.Errorf("owners (-want +got):\n%s", diff)
		}
		if a := apply("two", "81"); a.code != http.StatusConflict {
			t.Errorf("another port: %d %s", a.code, a.body)
		}
	})
}

// The owners are in protobuf, too.
func TestOwnersInProtobuf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.data("one", `{x: "1"}`)
		_, b := f.protobuf(inD + "/a")
		if !strings.Contains(string(b), `{"f:data":{"f:x":{}}}`) {
			t.Errorf("protobuf has %q", b)
		}
	})
}

// The status and the rest are applied apart, and have owners of their own.
func TestOwnersOfTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		const path = "/apis/example.com/v1/namespaces/d/widgets/w"
		widget := func(path, manager, fields string) answer {
			return f.apply(path, manager, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, "+fields+"}")
		}
		if a := widget(path+"/status", "two", "status: {ready: true}"); a.code != http.StatusNotFound {
			t.Errorf("the status of an object that does not exist: %d", a.code)
		}
		widget(path, "one", "spec: {size: 1}, status: {ready: no}")
		a := widget(path+"/status", "two", "spec: {size: 2}, status: {ready: true}")
		obj := object(t, a)
		if fmt.Sprint(lookup(obj, "spec.size")) != "1" || lookup(obj, "status.ready") != true {
			t.Errorf("%s", a.body)
		}
		if got, want := owners(t, a), []string{`one Apply {"f:spec":{"f:size":{}}}`, `two Apply/status {"f:status":{"f:ready":{}}}`}; !slices.Equal(got, want) {
			t.Errorf("owners %q, want %q", got, want)
		}
		a = widget(path+"/status", "two", "status: {other: 1}")
		if got := object(t, a)["status"]; fmt.Sprint(got) != "map[other:1]" {
			t.Errorf("status %v", got)
		}
		if got, want := owners(t, widget(path+"/status", "two", "spec: {size: 1}")), []string{`one Apply {"f:spec":{"f:size":{}}}`}; !slices.Equal(got, want) {
			t.Errorf("owners %q, want %q", got, want)
		}
	})
}

// Nothing that a client writes may end the server: whatever the fields and the managed fields look
// like.
func FuzzApply(f *testing.F) {
	f.Add(`{"data":{"x":"1"},"metadata":{"managedFields":[{"operation":"Apply","manager":"m","fieldsV1":{"f:data":{}}}]}}`, `{"data":{"x":"2"},"spec":{"containers":[{"name":"a"},{"name":"a"},3]}}`)
	f.Add(`{"spec":{"containers":[{"image":"x"}],"env":{"name":1}}}`, `{"spec":{"containers":{"name":"a"},"env":[null,{"name":null}]}}`)
	f.Add(`{"metadata":{"managedFields":[1,{"operation":"Apply","fieldsV1":{"k:{\"name\":1}":{},"v:1":{},"i:9":{}}}],"finalizers":["a","a"]}}`, `{"metadata":{"finalizers":[{}],"labels":7,"ownerReferences":[{}]}}`)
	f.Fuzz(func(t *testing.T, object, fields string) {
		s := New(Options{})
		defer s.Close()
		obj, err := decodeObject([]byte(object))
		if err != nil {
			return
		}
		config, err := decodeObject([]byte(fields))
		if err != nil {
			return
		}
		for _, o := range []map[string]any{obj, config} {
			meta, ok := o["metadata"].(map[string]any)
			if !ok {
				meta = map[string]any{}
				o["metadata"] = meta
			}
			meta["namespace"], meta["name"] = "d", "a"
			o["apiVersion"], o["kind"] = "v1", "Pod"
		}
		if _, err := s.Create("pods", obj); err != nil {
			return
		}
		for _, manager := range []string{"one", "two", "one"} {
			tgt, ok := s.route("/api/v1/namespaces/d/pods/a")
			if !ok {
				t.Fatal("no route")
			}
			tgt.by = author{manager: manager, force: manager == "two"}
			if r, _, err := s.storage.patch(tgt, mustJSON(config), "application/apply-patch+yaml"); err == nil && r == nil {
				t.Error("no object, and no error")
			}
		}
		if _, err := s.Patch("pods", "d", "a", map[string]any{"spec": config["spec"]}); err != nil {
			return
		}
	})
}

// An apply with a UID is for the object with this UID, and makes no other.
func TestApplyWithUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		fields := func(uid string) string {
			return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: "` + uid + `"}, data: {x: "1"}}`
		}
		a := f.apply(inD+"/a", "one", fields("u"), "&force=true")
		if want := "uid mismatch: the provided object specified uid u, and no existing object was found"; a.code != http.StatusConflict || !strings.Contains(a.body, want) {
			t.Errorf("without an object: %d %s, want 409 %s", a.code, a.body, want)
		}
		f.create("d/a")
		before := f.ResourceVersion()
		a = f.apply(inD+"/a", "one", fields("u"), "&force=true")
		if want := "metadata.uid: Invalid value"; a.code != http.StatusUnprocessableEntity || !strings.Contains(a.body, want) || f.ResourceVersion() != before {
			t.Errorf("another object: %d %s, want 422 %s", a.code, a.body, want)
		}
		uid := str(metadataOf(object(t, f.do("GET", inD+"/a", ""))), "uid")
		f.expectOwners(f.apply(inD+"/a", "one", fields(uid), "&force=true"), http.StatusOK, map[string]any{"v": "1", "x": "1"},
			`one Apply {"f:data":{"f:x":{}}}`, `before-first-apply Update {"f:data":{"f:v":{}}}`)
	})
}
