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

// A server that was restored from a backup is another process: a watch of the one before hears nothing of what is written
// to it, not even of versions that it has not seen.
func TestWatchDoesNotOutliveARestoredBackup(t *testing.T) {
	for range 50 { // the restoration and the watch are two goroutines
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			backup := f.create("d/a") // 2
			f.touch("d/a")            // 3
			w := f.watch(configMaps + "&resourceVersion=3")
			if err := f.RestoreBackup(backup); err != nil {
				t.Fatal(err)
			}
			f.create("d/b", "d/c", "d/e") // 5
			w.wantEnd(io.EOF)
		})
	}
}

func TestRestoreBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		backup := f.create("d/a", "d/b") // 3
		must[string](t)(f.Delete("configmaps", "d", "a"))
		f.touch("d/b")
		f.create("d/c") // 6
		w := f.watch(configMaps + "&resourceVersion=6")
		if err := f.RestoreBackup(backup); err != nil {
			t.Fatal(err)
		}
		w.wantEnd(io.EOF)
		if l := f.list("/api/v1/configmaps"); describe(l) != "3: d/a d/b" {
			t.Errorf("restored: %s", describe(l))
		}
		if l := f.list("/api/v1/configmaps?resourceVersion=6"); l.Code != http.StatusGatewayTimeout {
			t.Errorf("a client of the future gets %s", describe(l))
		}
		if rv := f.create("d/z"); rv != "4" {
			t.Errorf("the counter goes on at %s", rv)
		}
		if _, ok := f.CommitTime("6"); ok {
			t.Error("6 has a commit time")
		}
		for _, rv := range []string{"99", "x"} {
			if err := f.RestoreBackup(rv); err == nil {
				t.Errorf("a backup at %s was restored", rv)
			}
		}
	})
}
