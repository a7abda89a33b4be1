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
		f.Replica("b")
		help := f.get(faultsPath).body
		for _, sw := range faultSwitches {
			if !strings.Contains(help, "POST "+faultsPath+sw.name) {
				t.Errorf("%s is not in the list", sw.name)
			}
		}
		for _, path := range []string{
			"freeze?replica=b", "route?replica=b", "unfreeze?replica=b", "compact", "expire-continue", "cut?next=1&after=3", "end",
			"inject?raw=" + url.QueryEscape("{}"), "stall", "resume", "goaway", "drop?type=ADDED", "swallow?what=bookmarks",
			"swallow?what=initial-events-end&on=false", "restore?resourceVersion=" + rv, "clear", "half-open", "bookmarks?period=5s",
			"cut?lists=true&next=2&after=9", "rewrite?name=a&patch=" + url.QueryEscape(`{"data":5}`), "fail?verb=get&for=1h&namespace=d&user-agent=x",
			"fail?verb=list&status=503&retry-after=1s",
		} {
			if a := f.do(http.MethodPost, faultsPath+path, ""); a.code != http.StatusOK {
				t.Errorf("%s: %d %s", path, a.code, a.body)
			}
		}
		help = f.get(faultsPath).body
		for _, want := range []string{"rewrite 1 event\n", "cut the next 2 lists\n", `fail for 1h0m0s with 500 verb="get" namespace="d" user-agent="x"`, "swallow bookmarks\n"} {
			if want == "swallow bookmarks\n" == strings.Contains(help, want) { // that was cleared
				t.Errorf("what is in effect has %q: %s", want, help)
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
		if a := f.do(http.MethodPost, faultsPath+"cutt", ""); !strings.Contains(a.body, "did you mean cut?") {
			t.Errorf("a name that is nearly right: %s", a.body)
		}
		if a := f.get(faultsPath + "compact"); a.code != http.StatusMethodNotAllowed {
			t.Errorf("GET of a fault: %d", a.code)
		}
	})
}

// What is misspelt is refused with a line that says what is wanted.
func TestFaultsOverHTTPRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.Replica("b")
		for path, want := range map[string]string{ // each request by itself
			"fail?verb=wach":                              `fail the next requests: verb "wach": want one of list, watch`,
			"fail?resource=svcs":                          `fail the next requests: resource "svcs": the server has none`,
			"fail?resource=nodes&namespace=d":             `fail the next requests: namespace "d": no such request is in a namespace`,
			"fail?verb=discover&namespace=d":              `fail the next requests: namespace "d": no such request is in a namespace`,
			"fail?verbs=list":                             `fail has no parameter "verbs": want content-type, count, for, in-stream, message, namespace, raw, reason, resource, retry-after, status, user-agent, verb`,
			"fail?in-stream=maybe":                        "in-stream=maybe: want true or false",
			"fail?retry-after=1":                          "retry-after=1: want a duration such as 5s",
			"fail?count=1&count=2":                        "count is given more than once",
			"stall?now=true":                              `stall has no parameters, and so no "now"`,
			"freeze?replica=c":                            `replica "c": the server has only "", "b"; `,
			"route?replica=c":                             `replica "c": the server has only "", "b"`,
			"compact?resource=cm":                         `compact a window: resources "cm" not found`,
			"end?resource=cm":                             `end watches: resource "cm": the server has none of this name; write it as "pods" or "deployments.apps"`,
			"cut?resource=cm":                             `cut watches or lists: resource "cm": the server has none`,
			"cut?after=x":                                 "after=x: want a whole number, 0 or more",
			"cut?after=-1":                                "after=-1: want a whole number, 0 or more",
			"refuse?for=0s":                               "for=0s: want more than zero",
			"fail?for=1":                                  "for=1: want a duration such as 5s",
			"rewrite?patch=5":                             "patch=5: want a JSON object: ",
			"rewrite?patch=%7B%7D":                        "rewrite events: no patch",
			"rewrite?resource=svcs&patch=%7B%22a%22:1%7D": `rewrite events: resource "svcs": the server has none`,
			"rewrite?type=added&patch=%7B%22a%22:1%7D":    `rewrite events: type "added": want ADDED`,
			"bookmarks?period=often":                      "period=often: want a duration",
			"swallow?what=bookmarks&a=;":                  "the parameters of swallow: ",
		} {
			a := f.do(http.MethodPost, faultsPath+path, "")
			if a.code != http.StatusBadRequest || !strings.HasPrefix(a.body, want) {
				t.Errorf("%s: %d %s, want %q", path, a.code, a.body, want)
			}
		}
		for path, want := range map[string]string{
			"cut?next=1": "1 watch\n", "cut?next=2": "2 watches\n", "goaway": "1 request\n", "fail?count=0&for=5s": "requests for 5s\n",
		} {
			if a := f.do(http.MethodPost, faultsPath+path, ""); a.body != want {
				t.Errorf("%s: %q, want %q", path, a.body, want)
			}
		}
	})
}

// The parameters that a switch knows are those of its example.
func TestFaultExamplesWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.Replica("replica-1")
		for _, sw := range faultSwitches {
			if sw.name == "refuse" {
				continue // the connection of the answer is lost
			}
			if a := f.do(http.MethodPost, faultsPath+sw.name+sw.query, ""); a.code != http.StatusOK {
				t.Errorf("%s%s: %d %s", sw.name, sw.query, a.code, a.body)
			}
		}
	})
}
