package apitest

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

func TestRefuseWithoutListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		must.OK(t, f.Refuse(time.Minute))
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
		must.OK(t, f.DropEvent("DELETED", 1))
		must.Get[string](t)(f.Delete("configmaps", "d", "a")) // 4: nobody hears of it
		must.Get[string](t)(f.Delete("configmaps", "d", "b"))
		w.want("DELETED b@5")
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "5:" {
			t.Errorf("the list shows %s", describe(l))
		}
		if err := f.DropEvent("BOOKMARK", 1); err == nil {
			t.Error("BOOKMARK is no change")
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
