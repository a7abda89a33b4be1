package apitest

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// A rule is something that kube-apiserver does, shown by requests. test/conformance/apiserver
// compares it with the real one.
func TestRulesOfKubeAPIServer(t *testing.T) {
	const (
		pods        = "/api/v1/namespaces/d/pods"
		deployments = "/apis/apps/v1/namespaces/d/deployments"
		leases      = "/apis/coordination.k8s.io/v1/namespaces/d/leases"
		widgets     = "/apis/example.com/v1/namespaces/d/widgets"
		secrets     = "/api/v1/namespaces/d/secrets"
		merge       = "Content-Type: application/merge-patch+json"
		table       = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"
	)
	type step struct {
		method, path, body, header string
		code                       int
		has, lacks                 string // parts of the answer
	}
	for rule, steps := range map[string][]step{ // each by itself
		"a dry run that the body asks for deletes nothing": {
			{"DELETE", inD + "/a", `{"dryRun":["All"]}`, "", 200, `"Success"`, ""},
			{"DELETE", inD, `{"dryRun":["All"]}`, "", 200, `"name":"a"`, ""},
			{"GET", inD + "/a", "", "", 200, "", ""},
		},
		"Foreground leaves the object with a finalizer": {
			{"DELETE", inD + "/a", `{"propagationPolicy":"Foreground"}`, "", 200, `"foregroundDeletion"`, ""}, {"GET", inD + "/a", "", "", 200, `"deletionTimestamp"`, ""},
		},
		"Orphan leaves it too": {{"DELETE", inD + "/a?propagationPolicy=Orphan", "", "", 200, `"finalizers":["orphan"]`, ""}},
		"a Pod on a node has a period of grace": {
			{"POST", pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n"}}`, "", 201, `"phase":"Pending"`, ""},
			{"DELETE", pods + "/p", "", "", 200, `"deletionGracePeriodSeconds":30`, ""},
			{"GET", pods + "/p", "", "", 200, "", ""},
			{"DELETE", pods + "/p", `{"gracePeriodSeconds":0}`, "", 200, `"kind":"Pod"`, ""},
			{"GET", pods + "/p", "", "", 404, "", ""},
		},
		"a collection is deleted under its preconditions": {{"DELETE", inD, `{"preconditions":{"uid":"x"}}`, "", 409, "Precondition failed", ""}, {"GET", inD + "/a", "", "", 200, "", ""}},
		"a collection is deleted up to a limit":           {{"DELETE", inD + "?limit=1", "", "", 200, `"continue":"`, ""}, {"GET", inD, "", "", 200, `"name":"b"`, `"name":"a"`}},
		"no collection is deleted across namespaces":      {{"DELETE", "/api/v1/configmaps", "", "", 405, "", ""}, {"DELETE", "/api/v1/namespaces", "", "", 405, "", ""}},
		"a new object gets a UID of its own":              {{"POST", inD, `{"metadata":{"name":"n","uid":"mine","creationTimestamp":"1999-01-01T00:00:00Z"}}`, "", 201, "", `mine`}},
		"status is written by its subresource alone": {
			{"POST", deployments, `{"metadata":{"name":"w"},"spec":{},"status":{"replicas":7}}`, "", 201, "", `"replicas":7`},
			{"PATCH", deployments + "/w", `{"status":{"replicas":7}}`, merge, 200, "", `"replicas":7`},
			{"PATCH", deployments + "/w/status", `{"status":{"replicas":7},"spec":{"x":1}}`, merge, 200, `"replicas":7`, `"x":1`},
			{"PATCH", pods + "/p/status", `{}`, merge, 404, "", ""},
			{"GET", inD + "/a/status", "", "", 404, "", ""},
		},
		"labels of a Pod can be written with its status": {
			{"POST", pods, `{"metadata":{"name":"p"},"spec":{}}`, "", 201, "", ""}, {"PATCH", pods + "/p/status", `{"metadata":{"labels":{"a":"b"}}}`, merge, 200, `"a":"b"`, ""},
		},
		"a PUT makes a Lease or Endpoints":           {{"PUT", leases + "/l", `{"metadata":{"name":"l"}}`, "", 201, "", ""}, {"PUT", "/api/v1/namespaces/d/endpoints/e", `{"metadata":{"name":"e"}}`, "", 201, "", ""}},
		"no finalizer is added to what is deleted":   {{"PATCH", inD + "/a", `{"metadata":{"finalizers":["x/y"]}}`, merge, 200, "", ""}, {"DELETE", inD + "/a", "", "", 200, "", ""}, {"PATCH", inD + "/a", `{"metadata":{"finalizers":["x/y","x/z"]}}`, merge, 422, "FieldValueForbidden", ""}},
		"a patch changes no name, namespace or kind": {{"PATCH", inD + "/a", `{"metadata":{"name":"c"}}`, merge, 400, "", ""}, {"PATCH", inD + "/a", `{"metadata":{"namespace":"e"}}`, merge, 400, "", ""}, {"PATCH", inD + "/a", `{"kind":"Pod"}`, merge, 422, "", ""}},
		"metadata is validated": {
			{"POST", inD, `{"metadata":{"name":"A b"}}`, "", 422, `"field":"metadata.name"`, ""},
			{"POST", inD, `{"metadata":{"generateName":"A_"}}`, "", 422, "metadata.generateName", ""},
			{"POST", inD, `{"metadata":{"name":"n","labels":{"a b":"c"}}}`, "", 422, "metadata.labels", ""},
			{"POST", inD, `{"metadata":{"name":"n","annotations":{"a b":"c"}}}`, "", 422, "metadata.annotations", ""},
			{"POST", inD, `{"metadata":{"name":"n","finalizers":["bare"]}}`, "", 422, "metadata.finalizers", ""},
		},
		"a watch as Table has columns once": {{"GET", "/api/v1/configmaps?watch=1&timeoutSeconds=1", "", table, 200, `"columnDefinitions":null`, `"columnDefinitions":[{}]`}},
		"the text of a Secret becomes data": {{"POST", secrets, `{"metadata":{"name":"s"},"stringData":{"a":"b"}}`, "", 201, `"data":{"a":"Yg=="},"type":"Opaque"`, "stringData"}},
		"a Namespace has its name as a label, and is active": {
			{"POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`, "", 201, `"kubernetes.io/metadata.name":"n"`, ""},
			{"GET", "/api/v1/namespaces?fieldSelector=status.phase%3DActive", "", "", 200, `"name":"n"`, ""},
			{"DELETE", "/api/v1/namespaces/n", "", "", 200, `"Terminating"`, ""},
		},
		"Pods are selected by status.podIPs": {{"GET", pods + "?fieldSelector=status.podIPs%3D1.2.3.4", "", "", 200, "", ""}},
		"there is no CBOR":                   {{"GET", inD + "/a", "", "Accept: application/cbor", 406, "", ""}},
		"the rest of a list from the cache comes in one page": {
			{"GET", inD + "?resourceVersion=0&limit=1&continue=" + base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":3,"start":"/a\u0000"}`)), "", "", 200, `"name":"b"`, `"continue"`},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				f.create("d/a", "d/b")
				for _, s := range steps {
					var header []string
					if s.header != "" {
						header = append(header, s.header)
					}
					a := f.do(s.method, s.path, s.body, header...)
					if a.code != s.code || !strings.Contains(a.body, s.has) || s.lacks != "" && strings.Contains(a.body, s.lacks) {
						t.Errorf("%s %s %s: %d %s\nwant %d with %q and without %q", s.method, s.path, s.body, a.code, a.body, s.code, s.has, s.lacks)
					}
				}
			})
		})
	}
}

// Watchers of a Pod that is deleted see that first, and then that it is gone.
func TestDeletedPodIsMarkedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		const pods = "/api/v1/namespaces/d/pods"
		if a := f.do(http.MethodPost, pods, `{"metadata":{"name":"p"},"spec":{}}`); a.code != http.StatusCreated {
			t.Fatalf("%d %s", a.code, a.body)
		}
		w := f.watch(pods + "?watch=1&resourceVersion=2")
		f.do(http.MethodDelete, pods+"/p", "")
		w.want("MODIFIED p@3", "DELETED p@4")
	})
}
