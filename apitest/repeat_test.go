package apitest

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestRepeatItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a", "d/b")
		f.touch("d/a") // 4
		for _, x := range []Repeat{{Lists: -1}, {Resource: "nothing"}} {
			if err := f.RepeatItem(x); err == nil {
				t.Errorf("%+v is accepted", x)
			}
		}
		for _, x := range []Repeat{{Resource: "configmaps", Namespace: "d", Name: "a", Older: true}, {Resource: "configmaps", Name: "b", Older: true}, {Name: "c"}, {}} {
			if err := f.RepeatItem(x); err != nil {
				t.Fatal(err)
			}
		}
		f.list("/api/v1/secrets") // it has no object to repeat
		for _, want := range []string{"a@2 b@3 a@4", "a@4 b@3 b@3", "a@4 b@3 a@4", "a@4 b@3"} {
			var got []string
			for _, it := range f.list("/api/v1/configmaps").Items {
				got = append(got, it.Metadata.Name+"@"+it.Metadata.ResourceVersion)
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("a list has %s, want %s", got, want)
			}
		}
		if a := f.get("/_faults/"); !strings.Contains(a.body, "repeat-item in the next 1 list\n") {
			t.Errorf("one was not met:\n%s", a.body)
		}
	})
}

func TestRepeatEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a", "e/b")                            // 2, 3
		f.touch("d/a")                                    // 4
		must[string](t)(f.Delete("configmaps", "d", "a")) // 5
		f.touch("e/b")                                    // 6
		f.RepeatEvents(2)
		f.watch(configMaps+"&resourceVersion=6").want("DELETED a@5", "MODIFIED b@6")
		f.watch("/api/v1/namespaces/d/configmaps?watch=1&resourceVersion=5").want("MODIFIED a@4", "DELETED a@5")
		f.watch("/api/v1/namespaces/e/configmaps?watch=1&resourceVersion=3").want("ADDED b@3", "MODIFIED b@6")
		f.watch(configMaps+"&resourceVersion=0&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan").
			want("ADDED b@6", "BOOKMARK@6 end")
		f.RepeatEvents(100)
		f.watch(configMaps+"&resourceVersion=4").want("ADDED a@2", "ADDED b@3", "MODIFIED a@4", "DELETED a@5", "MODIFIED b@6")
		f.ClearFaults()
		quiet := f.watch(configMaps + "&resourceVersion=6")
		f.create("d/c")
		quiet.want("ADDED c@7")
	})
}
