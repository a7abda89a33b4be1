package apitest

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/relist-go/relist/internal/must"
)

func TestPatches(t *testing.T) {
	const merge, strategic, jsonPatch = "merge-patch", "strategic-merge-patch", "json-patch"
	const was = `{"a":"1","l":["x","y"],"o":{"p":"q","r":"s"},"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"}]}],"ports":[{"port":80}]}`
	for _, tt := range []struct{ kind, patch, want string }{
		{merge, `{"a":null,"o":{"p":null,"n":{"m":null,"k":1}},"l":["z"]}`, `{"l":["z"],"o":{"r":"s","n":{"k":1}},"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"}]}],"ports":[{"port":80}]}`},
		{merge, `{"containers":[{"name":"d"}],"l":null,"o":null,"ports":null,"a":null}`, `{"containers":[{"name":"d"}]}`},
		{strategic, `{"a":"2","o":{"p":null,"n":{"m":"1"}},"ports":null}`, `{"a":"2","l":["x","y"],"o":{"r":"s","n":{"m":"1"}},"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"}]}]}`},
		{
			jsonPatch, `[{"op":"test","path":"/spec/a","value":"1"},{"op":"remove","path":"/spec/a"},{"op":"add","path":"/spec/l/1","value":"z"},
			{"op":"add","path":"/spec/l/-","value":"w"},{"op":"replace","path":"/spec/o","value":{"~/":1}},{"op":"copy","from":"/spec/l/0","path":"/spec/c"},
			{"op":"move","from":"/spec/o/~0~1","path":"/spec/m"},{"op":"remove","path":"/spec/containers/0"},{"op":"replace","path":"/spec/ports/0/port","value":81},
			{"op":"replace","path":"/spec/new","value":2}]`,
			`{"new":2,"l":["x","z","y","w"],"o":{},"c":"x","m":1,"containers":[],"ports":[{"port":81}]}`,
		},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				const deployments = "/apis/apps/v1/namespaces/d/deployments"
				f.do("POST", deployments, `{"metadata":{"name":"x"},"spec":`+was+`}`)
				patch := tt.patch
				if tt.kind != jsonPatch {
					patch = `{"spec":` + patch + `}`
				}
				a := f.do("PATCH", deployments+"/x", patch, "Content-Type: application/"+tt.kind+"+json")
				if a.code != http.StatusOK {
					t.Fatalf("%d %s", a.code, a.body)
				}
				want := must.Get[map[string]any](t)(decodeObject([]byte(tt.want)))
				got := must.Get[map[string]any](t)(decodeObject([]byte(a.body)))
				if diff := cmp.Diff(any(want), got["spec"]); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

func TestBadPatches(t *testing.T) {
	for _, tt := range []struct {
		kind, patch string
		code        int
	}{
		{"application/strategic-merge-patch+json", `1`, 400},
		{"application/strategic-merge-patch+json", `{"metadata":{"finalizers":["f.example.com/g"]}}`, 415},
		{"application/strategic-merge-patch+json", `{"data":{"$patch":"replace","v":"2"}}`, 415},
		{"application/strategic-merge-patch+json", `{"data":{"$retainKeys":null}}`, 415},
		{"application/json-patch+json", `[{"op":"add","path":"/data/v/x","value":1}]`, 422},
		{"application/json-patch+json", `[{"op":"add","path":"data","value":1}]`, 422},
		{"application/json-patch+json", `[{"op":"copy","from":"x","path":"/data"}]`, 422},
		{"application/json-patch+json", `[{"op":"replace","path":"/data/x/y","value":1}]`, 422},
		{"application/json-patch+json", `[{"op":"replace","path":"","value":1}]`, 422},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			f.create("d/a")
			query := ""
			if tt.kind == "application/apply-patch+yaml" {
				query = "?fieldManager=t"
			}
			a := f.do("PATCH", inD+"/a"+query, tt.patch, "Content-Type: "+tt.kind)
			if a.code != tt.code || f.ResourceVersion() != "2" {
				t.Errorf("%s %s: %d %s, want %d", tt.kind, tt.patch, a.code, a.body, tt.code)
			}
		})
	}
}

// The words are kube-apiserver's: it does not say which operation failed.
func TestPatchThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		a := f.do("PATCH", inD+"/a", `[{"op":"test","path":"/data/v","value":"2"}]`, "Content-Type: application/json-patch+json")
		want := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
			`"message":"the server rejected our request due to an error in our request","reason":"Invalid","details":{},"code":422}` + "\n"
		if a.body != want {
			t.Errorf("%s, want %s", a.body, want)
		}
	})
}

func FuzzMergePatch(f *testing.F) {
	f.Add(`{"a":{"b":1},"finalizers":["f"],"env":[{"name":"e"}]}`, `{"a":{"b":null},"finalizers":[{}],"c":{"d":{"e":null}}}`)
	f.Fuzz(func(t *testing.T, object, patch string) {
		obj, err := decodeObject([]byte(object))
		if err != nil {
			return
		}
		want, err := decodeObject([]byte(patch))
		if err != nil {
			return
		}
		given, _ := decodeObject([]byte(patch))
		mergePatch(obj, given)
		if diff := cmp.Diff(want, given); diff != "" {
			t.Errorf("the patch was changed:\n%s", diff)
		}
	})
}

func FuzzJSONPatch(f *testing.F) {
	f.Add(`[{"op":"add","path":"/l/1","value":1},{"op":"copy","from":"/l/1","path":"/l/-"}]`)
	f.Add(`[{"op":"test","path":""}]`)
	f.Add(`[{"op":"move","path":"/o/p","from":"/l/0"},{"op":"test","path":"","value":null},{"op":"replace","path":"","value":7}]`)
	f.Fuzz(func(t *testing.T, text string) {
		patch, err := jsonpatch.DecodePatch([]byte(text))
		if err != nil {
			return
		}
		obj := map[string]any{"l": []any{"x", "y"}, "o": map[string]any{"p": "q"}}
		// Nothing to compare with: it must not panic, and what it makes must be an object.
		if out, err := applyJSONPatch(obj, patch); err == nil && out == nil {
			t.Error("no object, and no error")
		}
	})
}
