package apitest

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestRefuseWithoutListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		if err := f.Refuse(time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := try(t, f.client, "http://server/api/v1/configmaps"); err == nil {
			t.Error("it answered")
		}
		pass(time.Minute + 1)
		if a := f.get("/api/v1/configmaps"); a.code != http.StatusOK {
			t.Errorf("after a minute: %d", a.code)
		}
	})
}

func TestDropEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a", "d/b")
		w := f.watch(configMaps + "&resourceVersion=3")
		if err := f.DropEvent("DELETED", 1); err != nil {
			t.Fatal(err)
		}
		must[string](t)(f.Delete("configmaps", "d", "a")) // 4: nobody hears of it
		must[string](t)(f.Delete("configmaps", "d", "b"))
		w.want("DELETED b@5")
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "5:" {
			t.Errorf("the list shows %s", describe(l))
		}
		if err := f.DropEvent("BOOKMARK", 1); err == nil {
			t.Error("BOOKMARK is no change")
		}
	})
}

// A type whose caches are filled again loses its watches and its window. Other types do not.
func TestRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.touch("d/a") // 3
		frozen := f.Replica("b")
		frozen.Freeze()
		w := f.watch(configMaps + "&resourceVersion=3")
		other := f.watch("/api/v1/secrets?watch=1&resourceVersion=3")
		if err := f.Refill("configmaps"); err != nil {
			t.Fatal(err)
		}
		w.wantEnd(io.EOF)
		f.watch(configMaps + "&resourceVersion=2").want("ERROR Expired")
		f.touch("d/a")
		f.watch(configMaps + "&resourceVersion=3").want("MODIFIED a@4")
		must[string](t)(f.Create("secrets", configMap("d", "s")))
		other.want("ADDED s@5")
		f.Route(frozen)
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "3: d/a" {
			t.Errorf("the frozen replica has %s", describe(l))
		}
		if err := f.Refill("nothing"); err == nil {
			t.Error("a type that is not there was filled")
		}
	})
}

// Without progress notifications, only a change of a type moves its cache. The most recent state is
// then read from the storage.
func TestNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{NoProgress: true})
		f.create("d/a") // 2
		must[string](t)(f.Create("secrets", configMap("d", "s")))
		f.Route(f.Replica("b")) // filled at 3
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "3: d/a" {
			t.Errorf("the younger server: %s", describe(l))
		}
		f.Route(f.Replica(""))
		for query, want := range map[string]string{
			"?resourceVersion=0": "2: d/a", "?resourceVersion=3": "504 Timeout", "": "3: d/a",
			"?resourceVersion=3&resourceVersionMatch=Exact": "504 Timeout", "?limit=5": "3: d/a",
		} {
			if l := f.list("/api/v1/configmaps" + query); describe(l) != want {
				t.Errorf("the older server: %s: %s, want %s", query, describe(l), want)
			}
		}
		w := f.watch(configMaps + "&resourceVersion=3")
		f.touch("d/a")
		w.want("MODIFIED a@4")
		if l := f.list("/api/v1/configmaps?resourceVersion=3"); describe(l) != "4: d/a" {
			t.Errorf("after a change: %s", describe(l))
		}
	})
}

func TestWatchTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{WatchTimeout: time.Minute})
		begin := time.Now()
		f.watch(configMaps + "&resourceVersion=1").wantEnd(io.EOF)
		f.watch(configMaps + "&resourceVersion=1&timeoutSeconds=7").wantEnd(io.EOF)
		if took := time.Since(begin); took != 67*time.Second {
			t.Errorf("%v", took)
		}
	})
}
