package apitest

import (
	"testing"
	"testing/synctest"
)

// The words are kube-apiserver's. kubectl puts before them what it was looking for.
func TestUnknownFields(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"/api/v1/configmaps?fieldSelector=data.x%3D1", `"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/api/v1/configmaps?watch=1&fieldSelector=data.x%3D1", `"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/api/v1/pods?fieldSelector=spec.x%3D1", "field label not supported: spec.x"},
		{"/apis/example.com/v1/widgets?fieldSelector=spec.x%3D1", "field label not supported: spec.x"},
		{"/apis/batch/v1/jobs?fieldSelector=spec.x%3D1", `field label "spec.x" not supported for Job`},
		{"/api/v1/nodes?fieldSelector=metadata.namespace%3Dx", "field label not supported: metadata.namespace"},
		{"/api/v1/persistentvolumes?fieldSelector=metadata.namespace%3Dx", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			if l := f.list(tt.path); l.Message != tt.want || l.Code != 0 && l.Code != 400 {
				t.Errorf("%s: %d %s, want %s", tt.path, l.Code, l.Message, tt.want)
			}
		})
	}
}
