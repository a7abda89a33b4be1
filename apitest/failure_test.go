package apitest

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestFailureSaysWhatKubeAPIServerSays: without a message of its own, a failure is no text that
// clients make up for themselves.
func TestFailureSaysWhatKubeAPIServerSays(t *testing.T) {
	for _, tt := range []struct {
		failure   Failure
		path      string
		wantCode  int
		want      string
		wantTexts string
	}{
		{Failure{}, "/api/v1/configmaps", 500, "InternalError", "Internal error occurred: a fault of apitest"},
		{Failure{Status: 401}, "/api/v1/configmaps", 401, "Unauthorized", "Unauthorized"},
		{Failure{Status: 403}, "/api/v1/configmaps", 403, "Forbidden", `configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" at the cluster scope`},
		{Failure{Status: 403}, "/apis/apps/v1/namespaces/d/deployments/web", 403, "Forbidden", `deployments.apps "web" is forbidden: User "system:anonymous" cannot get resource "deployments" in API group "apps" in the namespace "d"`},
		{Failure{Status: 409}, "/api/v1/namespaces/d/configmaps/a", 409, "Conflict", `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`},
		{Failure{Status: 410}, "/api/v1/configmaps", 410, "Expired", "The resourceVersion for the provided list is too old."},
		{Failure{Status: 410}, configMaps, 410, "Expired", "too old resource version"},
		{Failure{Status: 410, Reason: "Gone"}, "/api/v1/configmaps", 410, "Gone", "The resourceVersion for the provided list is too old."},
		{Failure{Status: 429}, "/api/v1/configmaps", 429, "TooManyRequests", "Too many requests, please try again later."},
		{Failure{Status: 504}, "/api/v1/configmaps", 504, "Timeout", "Timeout: request did not complete within the allotted timeout"},
		{Failure{Status: 403, Message: "no"}, "/api/v1/configmaps", 403, "Forbidden", "no"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			f.failNext(tt.failure)
			got := f.list(tt.path)
			if got.Code != tt.wantCode || got.Reason != tt.want || got.Message != tt.wantTexts {
				t.Errorf("%+v at %s: %d %s %q, want %d %s %q", tt.failure, tt.path, got.Code, got.Reason, got.Message, tt.wantCode, tt.want, tt.wantTexts)
			}
		})
	}
}

// A user may lose the rights in one namespace only.
func TestFailInOneNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.failNext(Failure{For: time.Minute, Namespace: "d", Status: http.StatusForbidden})
		for path, want := range map[string]int{ // each request by itself
			"/api/v1/namespaces/d/configmaps": 403, "/apis/apps/v1/namespaces/d/deployments/web": 403,
			"/api/v1/namespaces/e/configmaps": 200, "/api/v1/configmaps": 200, "/api/v1/namespaces": 200, "/apis": 200,
		} {
			if got := f.get(path).code; got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
	})
}
