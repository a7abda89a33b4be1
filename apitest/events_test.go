package apitest

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/must"
)

// An Event that is written in one group is the same object in the other, by the other names of its
// members.
func TestEventsInTwoGroups(t *testing.T) {
	const (
		core, group = "/api/v1/namespaces/d/events", "/apis/events.k8s.io/v1/namespaces/d/events"
		inCore      = `"count":3,"involvedObject":{"kind":"Pod","name":"p"},"message":"m","reason":"r","reportingComponent":"c","source":{"component":"k"}}`
		inGroup     = `"deprecatedCount":3,"deprecatedSource":{"component":"k"},"note":"m","reason":"r","regarding":{"kind":"Pod","name":"p"},"reportingController":"c"}`
	)
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		watches := map[string]*watcher{inCore: f.watch(core + "?watch=1&fieldSelector=involvedObject.name%3Dp"), inGroup: f.watch(group + "?watch=1&fieldSelector=regarding.name%3Dp")}
		has := func(what, body, want string) {
			t.Helper()
			if !strings.Contains(body, ","+want) {
				t.Errorf("%s is %s\nwithout %s", what, body, want)
			}
		}
		has("the answer", f.do(http.MethodPost, core, `{"metadata":{"name":"old"},`+inCore).body, inCore)
		has("the answer", f.do(http.MethodPost, group, `{"metadata":{"name":"new"},`+inGroup).body, inGroup)
		for path, want := range map[string]string{core: inCore, group: inGroup} { // each by itself
			for _, name := range []string{"old", "new"} {
				has("the object", f.get(path+"/"+name).body, want)
				line := must.Get[string](t)(watches[want].r.ReadString('\n'))
				has("the event", line, want)
			}
			if a := f.get(path); strings.Count(a.body, want) != 2 {
				t.Errorf("the list is %s", a.body)
			}
		}

		// A Go program writes in the form of the resource that it names.
		must.Get[string](t)(f.Patch(groupEvents, "d", "new", map[string]any{"note": "again"}))
		if obj := must.Get[map[string]any](t)(f.Get(coreEvents, "d", "new")); obj["message"] != "again" || obj["note"] != nil {
			t.Errorf("after a patch of the note: %v", obj)
		}
		watches[inCore].want("MODIFIED new@4")
		watches[inGroup].want("MODIFIED new@4")
		must.OK(t, f.Rewrite(Rewrite{Resource: groupEvents, Patch: map[string]any{"note": "wrong"}}))
		must.Get[string](t)(f.Delete(groupEvents, "d", "new"))
		if line := must.Get[string](t)(watches[inGroup].r.ReadString('\n')); !strings.Contains(line, `"note":"wrong"`) {
			t.Errorf("the event that was rewritten is %s", line)
		}
		watches[inCore].want("DELETED new@5")
		for path, code := range map[string]int{ // each by itself
			core + "/new": 404, group + "/new": 404, group + "?fieldSelector=involvedObject.name%3Dp": 400, group + "?fieldSelector=source%3Dk": 400,
			group + "?fieldSelector=reportingController%3Dc": 200, core + "?fieldSelector=regarding.name%3Dp": 400,
		} {
			if a := f.get(path); a.code != code {
				t.Errorf("%s: %d %s", path, a.code, a.body)
			}
		}
	})
}
