package apitest

import (
	"strings"
	"testing"
	"testing/synctest"
)

// The replicas of a Deployment can be read and written as a Scale, as kubectl scale does.
func TestScale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		rv := must[string](t)(f.Create("deployments.apps", map[string]any{
			"metadata": map[string]any{"namespace": "d", "name": "web"},
			"spec":     map[string]any{"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}},
		}))
		const path = "/apis/apps/v1/namespaces/d/deployments/web/scale"
		got := object(t, f.get(path))
		if got["kind"] != "Scale" || lookup(got, "spec.replicas") != 2.0 || lookup(got, "status.selector") != "a=b" || lookup(got, "metadata.resourceVersion") != rv {
			t.Errorf("%v", got)
		}
		got = object(t, f.do("PATCH", path, `{"spec":{"replicas":5}}`, "Content-Type: application/merge-patch+json"))
		if got["kind"] != "Scale" || lookup(got, "spec.replicas") != 5.0 {
			t.Errorf("%v", got)
		}
		if a := f.do("PUT", path, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","resourceVersion":"`+rv+`"},"spec":{"replicas":7}}`); a.code != 409 {
			t.Errorf("an old version: %d %s", a.code, a.body)
		}
		if a := f.do("PUT", path, `{"metadata":{"name":"web"},"spec":{"replicas":0}}`); a.code != 200 || strings.Contains(a.body, `"spec":{"replicas"`) {
			t.Errorf("none: %d %s", a.code, a.body)
		}
		d := must[map[string]any](t)(f.Get("deployments.apps", "d", "web"))
		if lookup(d, "spec.replicas") != int64(0) || lookup(d, "metadata.generation") != int64(3) || lookup(d, "spec.selector") == nil {
			t.Errorf("%v", d)
		}
		if a := f.do("PATCH", path, `{"spec":{"replicas":-1}}`, "Content-Type: application/merge-patch+json"); a.code != 400 {
			t.Errorf("less than none: %d %s", a.code, a.body)
		}
		if a := f.get("/api/v1/namespaces/d/configmaps/a/scale"); a.code != 404 {
			t.Errorf("of a type that has no replicas: %d", a.code)
		}
	})
}
