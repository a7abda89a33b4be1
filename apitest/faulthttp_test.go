package apitest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

func TestFaultsOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{Token: "t"})
		rv := f.create("d/a", "d/b")
		help := f.get(faultsPath).body
		for _, sw := range faultSwitches {
			if !strings.Contains(help, "POST "+faultsPath+sw.name) {
				t.Errorf("%s is not in the list", sw.name)
			}
		}
		for _, path := range []string{
			"freeze?replica=b", "route?replica=b", "unfreeze?replica=b", "compact", "expire-continue", "cut?next=1&after=3", "end",
			"inject?raw=" + url.QueryEscape("{}"), "stall", "resume", "goaway", "drop?type=ADDED", "swallow?what=bookmarks",
			"swallow?what=initial-events-end&on=false", "restore?resourceVersion=" + rv, "fail?verb=list&status=503&retry-after=1s",
		} {
			if a := f.do(http.MethodPost, faultsPath+path, ""); a.code != http.StatusOK {
				t.Errorf("%s: %d %s", path, a.code, a.body)
			}
		}
		if a := f.get("/api/v1/configmaps", "Authorization: Bearer t"); a.code != http.StatusServiceUnavailable {
			t.Errorf("the failure that was asked for: %d", a.code)
		}
		for path, code := range map[string]int{ // each request by itself
			"nope": 404, "drop?type=x": 400, "cut?after=x": 400, "refuse?for=x": 400, "refuse?for=-1s": 400, "swallow?what=x": 400,
			"fail?count=x": 400, "goaway?requests=x": 400, "restore?resourceVersion=999": 400,
		} {
			if a := f.do(http.MethodPost, faultsPath+path, ""); a.code != code {
				t.Errorf("%s: %d %s", path, a.code, a.body)
			}
		}
		if a := f.get(faultsPath + "compact"); a.code != http.StatusMethodNotAllowed {
			t.Errorf("GET of a fault: %d", a.code)
		}
	})
}
