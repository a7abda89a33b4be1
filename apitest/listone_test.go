package apitest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/relist-go/relist/internal/must"
)

// oneObject is the query of a list that can bring one object and no more, as who holds a copy of it
// asks.
func oneObject(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fields.EscapeValue(pairs[i])+"="+fields.EscapeValue(pairs[i+1]))
	}
	return "?limit=2&fieldSelector=" + url.QueryEscape(strings.Join(all, ","))
}

// A list that names one object by its fields brings it, for every type, below its namespace and for
// all of them.
func TestListOfOneObject(t *testing.T) {
	for _, res := range DefaultResources() {
		t.Run(res.ID(), func(t *testing.T) {
			res = res.complete()
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				namespaces := []string{"d", "e"}
				if res.ClusterScoped {
					namespaces = []string{""}
				}
				rv := ""
				for _, ns := range namespaces {
					for _, name := range []string{"a", "b", "c"} {
						rv = must.Get[string](t)(f.Create(res.ID(), map[string]any{
							"metadata": map[string]any{"namespace": ns, "name": name, "labels": map[string]any{"at": ns + name}},
						}))
					}
				}
				all, in := res.root()+"/"+res.Plural, res.root()+"/namespaces/e/"+res.Plural
				byName, byBoth := oneObject("metadata.name", "b"), oneObject("metadata.name", "b", "metadata.namespace", "e")
				want := map[string]string{
					all + byBoth:                              rv + ": e/b",
					all + byBoth + "&labelSelector=at=eb":     rv + ": e/b",
					all + byBoth + "&labelSelector=at!=eb":    rv + ":",
					in + byBoth:                               rv + ": e/b",
					in + byName:                               rv + ": e/b",
					in + byName + "&labelSelector=at=ea":      rv + ":",
					in + oneObject("metadata.name", "z"):      rv + ":",
					in + oneObject("metadata.namespace", "d"): rv + ":",
				}
				if res.ClusterScoped {
					want = map[string]string{
						all + byName:                           rv + ": /b",
						all + byName + "&labelSelector=at%3Db": rv + ": /b",
						all + byName + "&labelSelector=at%3Da": rv + ":",
					}
				}
				for _, field := range res.Fields {
					// A field that is not set has its default, and "nonsense" is no default.
					path := in + oneObject("metadata.name", "b", field, "nonsense")
					if res.ClusterScoped {
						path = all + oneObject("metadata.name", "b", field, "nonsense")
					}
					want[path] = rv + ":"
				}
				for path, want := range want { // each request by itself
					l := f.list(path)
					if got := describe(l); got != want || l.Metadata.Continue != "" || l.Metadata.RemainingItemCount != nil {
						t.Errorf("%s: %s (continue %q), want %s and no more", path, got, l.Metadata.Continue, want)
					}
				}
			})
		})
	}
}

// A list without a resourceVersion asks the storage: a frozen replica answers it from there when it
// has waited, and behind a restored backup it brings what there was.
func TestListOfOneObjectMeetsFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		path := "/api/v1/configmaps" + oneObject("metadata.name", "a", "metadata.namespace", "d")
		old := f.create("d/a")
		behind := f.Replica("behind")
		behind.Freeze()
		f.Route(behind)
		rv := f.touch("d/a")
		begun := time.Now()
		l := f.list(path)
		if took := time.Since(begun); describe(l) != rv+": d/a" || l.Items[0].Metadata.ResourceVersion != rv || took != f.opts.FreshnessTimeout {
			t.Errorf("frozen: %s after %v, want the state at %s", describe(l), took, rv)
		}
		if l := f.list(path + "&resourceVersion=0"); describe(l) != old+": d/a" || l.Items[0].Metadata.ResourceVersion != old {
			t.Errorf("frozen, from the cache: %s, want the state at %s", describe(l), old)
		}
		must.Get[string](t)(f.Delete("configmaps", "d", "a"))
		if l := f.list(path); len(l.Items) != 0 {
			t.Errorf("frozen, of a deleted object: %s", describe(l))
		}
		f.Route(f.Replica(""))
		must.OK(t, f.Restore(Restore{ResourceVersion: old}))
		if l := f.list(path); describe(l) != old+": d/a" || l.Items[0].Metadata.ResourceVersion != old {
			t.Errorf("restored: %s, want the state at %s", describe(l), old)
		}
		f.failNext(Failure{Verb: "list", Resource: "configmaps", Status: http.StatusServiceUnavailable})
		if a := f.get(path); a.code != http.StatusServiceUnavailable {
			t.Errorf("the failure that was asked for: %d", a.code)
		}
	})
}
