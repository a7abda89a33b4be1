package apitest

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFailDiscovery: discovery fails only if somebody asks for that, whole or for one type's group
// and version.
func TestFailDiscovery(t *testing.T) {
	const aggregatedV2 = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
	paths := []string{"/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"}
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		codes := func(header ...string) string {
			var all []string
			for _, path := range paths {
				all = append(all, http.StatusText(f.get(path, header...).code))
			}
			return strings.Join(all, ", ")
		}
		expect := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		const well = "OK, OK, OK, OK, OK"
		f.failNext(Failure{For: time.Minute, Status: 503})
		expect("requests for objects fail", codes(), well)
		f.ClearFaults()

		f.failNext(Failure{For: time.Minute, Status: 503, Verb: "discover"})
		const away = "Service Unavailable, Service Unavailable, Service Unavailable, Service Unavailable, Service Unavailable"
		expect("discovery fails", codes(), away)
		expect("aggregated discovery fails", codes(aggregatedV2), away)
		expect("one that is spared", codes("X-Relist-Faults: off"), well)
		if got := f.get("/api/v1/pods"); got.code != http.StatusOK {
			t.Errorf("discovery fails, and a list: %d", got.code)
		}
		if got := f.get("/version"); got.code != http.StatusOK {
			t.Errorf("discovery fails, and the version: %d", got.code)
		}
		<-time.After(time.Minute)
		expect("a minute later", codes(), well)

		f.failNext(Failure{Count: 10, Status: 503, Verb: "discover", Resource: "deployments.apps"})
		expect("apps/v1 fails", codes(), "OK, OK, OK, Service Unavailable, Service Unavailable")
		expect("apps/v1 fails", codes(aggregatedV2), "OK, OK, OK, Service Unavailable, Service Unavailable")
		body := f.get("/apis", aggregatedV2).body
		if !strings.Contains(body, `{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[],"freshness":"Stale"}]}`) || strings.Count(body, "Stale") != 1 {
			t.Errorf("apps/v1 fails, and /apis is %s", body)
		}
		if body := f.get("/api", aggregatedV2).body; strings.Contains(body, "Stale") {
			t.Errorf("apps/v1 fails, and /api is %s", body)
		}
		f.ClearFaults()

		f.failNext(Failure{Status: 403, Verb: "discover"})
		if got := f.list("/apis"); got.Message != `forbidden: User "system:anonymous" cannot get path "/apis"` || got.Code != 403 {
			t.Errorf("%d %s", got.Code, got.Message)
		}
		expect("the next time", codes(), well)

		f.failNext(Failure{Verb: "discover", Status: 200, Raw: []byte("<html>"), ContentType: "text/html"})
		if got := f.get("/api"); got.body != "<html>" {
			t.Errorf("%d %s", got.code, got.body)
		}
		if err := f.FailNext(Failure{Verb: "discover", InStream: true}); err == nil {
			t.Error("discovery is no stream, and FailNext accepts one")
		}
	})
}
