package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// A listing is a list as the tests look at it.
type listing struct {
	Kind     string
	Metadata struct {
		ResourceVersion    string
		Continue           string
		RemainingItemCount *int64
	}
	Items []struct {
		Kind     string
		Metadata struct{ Name, Namespace, ResourceVersion string }
	}
	Code    int
	Reason  string
	Message string
}

func (l listing) names() []string {
	names := []string{}
	for _, it := range l.Items {
		names = append(names, it.Metadata.Namespace+"/"+it.Metadata.Name)
	}
	return names
}

func (f *fixture) list(path string) listing {
	f.Helper()
	a := f.get(path)
	var l listing
	if err := json.Unmarshal([]byte(a.body), &l); err != nil {
		f.Fatalf("%s: %v in %q", path, err, a.body)
	}
	if a.code == http.StatusOK {
		return l
	}
	if l.Kind != "Status" || l.Code != a.code {
		f.Errorf("%s: HTTP %d with %s %d", path, a.code, l.Kind, l.Code)
	}
	return l
}

// TestResourceVersionRules is the table of the API concepts page, on a replica at 5 of a storage at
// 9. https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func TestResourceVersionRules(t *testing.T) {
	const all5, all9 = "5: d/a d/b d/c d/d", "9: d/b d/c d/d d/e"
	for _, tt := range []struct {
		query string
		live  string // on a replica that follows
		stale string // on one frozen at 5; "" if the same
		wait  time.Duration
	}{
		{query: "", live: all9, wait: 3 * time.Second},
		{query: "limit=2", live: "9: d/b d/c ...2", wait: 3 * time.Second},
		{query: "resourceVersion=0", live: all9, stale: all5},
		{query: "resourceVersion=0&limit=2", live: all9, stale: all5},
		{query: "resourceVersion=0&limit=2&resourceVersionMatch=NotOlderThan", live: all9, stale: all5},
		{query: "resourceVersion=5", live: all9, stale: all5},
		{query: "resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=3", live: "9: d/b d/c d/d ...1", stale: "5: d/a d/b d/c ...1"},
		{query: "resourceVersion=7", live: all9, stale: "504 Timeout", wait: 3 * time.Second},
		{query: "resourceVersion=7&resourceVersionMatch=Exact", live: "7: d/a d/b d/c d/d d/e", stale: "504 Timeout", wait: 3 * time.Second},
		{query: "resourceVersion=7&limit=2", live: "7: d/a d/b ...3", stale: "504 Timeout", wait: 3 * time.Second},
		{query: "resourceVersion=4&resourceVersionMatch=Exact&limit=1", live: "4: d/a ...2"},
		{query: "resourceVersion=7&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Db", live: "7: d/b"},
		{query: "resourceVersion=8&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da", live: "8:"},
		{query: "resourceVersion=10", live: "504 Timeout", wait: 3 * time.Second},
		{query: "resourceVersion=10&resourceVersionMatch=Exact", live: "504 Timeout", wait: 3 * time.Second},
		{query: "resourceVersion=10&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Db", live: "504 Timeout"},
		{query: "resourceVersion=2&resourceVersionMatch=Exact", live: "410 Expired"},
		{query: "resourceVersion=2&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Db", live: "410 Expired"},
		{query: "resourceVersion=-1", live: "400 BadRequest"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				f.create("d/a", "d/b") // 2, 3
				f.Compact()
				f.create("d/c", "d/d") // 4, 5
				stale := f.Replica("stale")
				stale.Freeze()
				f.create("d/e") // 6
				f.touch("d/b")  // 7
				must.Get[string](t)(f.Delete("configmaps", "d", "a"))
				f.touch("d/c") // 9
				path := "/api/v1/namespaces/d/configmaps?" + tt.query

				began := time.Now()
				if got := describe(f.list(path)); got != tt.live {
					t.Errorf("live: %s, want %s", got, tt.live)
				}
				if took := time.Since(began); took != 0 && tt.live != "504 Timeout" {
					t.Errorf("live: it took %v", took)
				}
				f.Route(stale)
				if tt.stale == "" {
					tt.stale = tt.live
				}
				began = time.Now()
				if got := describe(f.list(path)); got != tt.stale {
					t.Errorf("stale: %s, want %s", got, tt.stale)
				}
				if took := time.Since(began); took != tt.wait {
					t.Errorf("stale: it took %v, want %v", took, tt.wait)
				}
			})
		})
	}
}

// describe sums up a list: "9: d/b d/c ...2", or an error: "504 Timeout".
func describe(l listing) string {
	if l.Kind == "Status" {
		return fmt.Sprintf("%d %s", l.Code, l.Reason)
	}
	s := l.Metadata.ResourceVersion + ":"
	for _, name := range l.names() {
		s += " " + name
	}
	if n := l.Metadata.RemainingItemCount; n != nil {
		s += fmt.Sprintf(" ...%d", *n)
	}
	return s
}

func TestContinueExpires(t *testing.T) {
	expire := map[string]func(f *fixture){
		"ExpireContinue": func(f *fixture) { f.ExpireContinue() },
		"Compact":        func(f *fixture) { f.Compact() },
		"age": func(f *fixture) {
			pass(6 * time.Minute)
			f.touch("d/a") // what is old goes when something is committed
		},
	}
	for name, expire := range expire { // each is a test of its own
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				f.create("d/a", "d/b", "d/c")
				first := f.list("/api/v1/configmaps?limit=1")
				must.Get[string](t)(f.Delete("configmaps", "d", "b"))
				f.create("d/d")
				expire(f)
				l := f.list("/api/v1/configmaps?limit=1&continue=" + first.Metadata.Continue)
				if got := describe(l); got != "410 Expired" || l.Metadata.Continue == "" {
					t.Fatalf("second page: %s, continue %q", got, l.Metadata.Continue)
				}
				l = f.list("/api/v1/configmaps?limit=5&continue=" + l.Metadata.Continue)
				if want := f.ResourceVersion() + ": d/c d/d"; describe(l) != want {
					t.Errorf("the rest: %s, want %s", describe(l), want)
				}
			})
		})
	}
}

// The Pods of one node are listed from an index, so a page that has them all has no token. The past
// has no index.
func TestPageOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		rv := ""
		for _, name := range []string{"a", "b", "c"} {
			rv = must.Get[string](t)(f.Create("pods", map[string]any{
				"metadata": map[string]any{"namespace": "d", "name": name},
				"spec":     map[string]any{"nodeName": map[bool]string{true: "first", false: "second"}[name == "a"]},
			}))
		}
		const node = "/api/v1/pods?limit=1&fieldSelector=spec.nodeName%3D"
		for path, want := range map[string]bool{
			node + "first": false, node + "second": true, node + "none": false,
			node + "first&resourceVersion=" + rv:                                   true,
			node + "first&resourceVersionMatch=NotOlderThan&resourceVersion=" + rv: false,
		} { // each by itself
			if l := f.list(path); (l.Metadata.Continue != "") != want {
				t.Errorf("%s: %s, continue %q", path, describe(l), l.Metadata.Continue)
			}
		}
	})
}
