package apitest

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCutAtEveryByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.create("d/b")
		whole := f.get(configMaps + "&resourceVersion=2&timeoutSeconds=1").body
		for n := range len(whole) {
			f.Cut(Cut{After: int64(n), Next: 1})
			a := f.get(configMaps + "&resourceVersion=2")
			if a.body != whole[:n] || !errors.Is(a.err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut at %d: %q, %v", n, a.body, a.err)
			}
		}
		f.Cut(Cut{After: 7, Next: 1, Clean: true})
		if a := f.get(configMaps + "&resourceVersion=2"); a.body != whole[:7] || a.err != nil {
			t.Errorf("clean cut at 7: %q, %v", a.body, a.err)
		}
	})
}

func TestCutOpenWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2")
		idle := f.watch("/api/v1/secrets?watch=1&resourceVersion=2")
		if n := f.CutWatches(10); n != 2 {
			t.Errorf("%d watches, want 2", n)
		}
		f.touch("d/a")
		if rest, err := io.ReadAll(w.r); string(rest) != `{"type":"M` || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q, %v", rest, err)
		}
		f.CutWatches(0)
		idle.wantEnd(io.ErrUnexpectedEOF)
	})
}

func TestEndWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2")
		f.EndWatches()
		w.wantEnd(io.EOF)
	})
}

func TestInject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2")
		f.Inject([]byte(`{"type":"STRANGE","object":{}}` + "\n"))
		f.touch("d/a")
		w.want("STRANGE @", "MODIFIED a@3")
	})
}

func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=2&timeoutSeconds=60")
		f.Stall()
		began := time.Now()
		go func() {
			f.touch("d/a")
			time.Sleep(time.Hour) // long past the timeout: a dead connection does not end
			if err := f.Resume(); err != nil {
				t.Error(err)
			}
		}()
		w.want("MODIFIED a@3")
		if waited := time.Since(began); waited != time.Hour {
			t.Errorf("the event came after %v", waited)
		}
		w.wantEnd(io.EOF) // its time was over long ago

		w = f.watch(configMaps + "&resourceVersion=3")
		f.Stall()
		f.touch("d/a")
		synctest.Wait()
		f.CutWatches(0) // reaches a stalled watch
		w.wantEnd(io.ErrUnexpectedEOF)
	})
}

func TestRefuseWithoutListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		if err := f.Refuse(time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := try(t, f.client, "http://server/api/v1/configmaps"); err == nil {
			t.Error("it answered")
		}
		time.Sleep(time.Minute + 1)
		if a := f.get("/api/v1/configmaps"); a.code != http.StatusOK {
			t.Errorf("after a minute: %d", a.code)
		}
	})
}

func TestFailNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.FailNext(Failure{Count: 2, Verb: "list", Status: 429, RetryAfter: 3 * time.Second})
		f.FailNext(Failure{Verb: "watch", Status: 410, Reason: metav1.StatusReasonGone, Message: "gone", InStream: true})
		f.FailNext(Failure{Resource: "secrets", Status: 502, Raw: []byte("<html>"), ContentType: "text/html"})
		for range 2 {
			a := f.get("/api/v1/configmaps")
			if a.code != 429 || a.header.Get("Retry-After") != "3" || !strings.Contains(a.body, `"retryAfterSeconds":3`) || !strings.Contains(a.body, "TooManyRequests") {
				t.Errorf("%d %v %s", a.code, a.header, a.body)
			}
		}
		if a := f.get("/api/v1/configmaps"); a.code != http.StatusOK {
			t.Errorf("the third list: %d", a.code)
		}
		f.watch(configMaps).want("ERROR Gone")
		f.watch(configMaps).want("ADDED a@2")
		if a := f.get("/api/v1/secrets"); a.code != 502 || a.body != "<html>" || a.header.Get("Content-Type") != "text/html" {
			t.Errorf("%d %s", a.code, a.body)
		}
		f.FailNext(Failure{})
		if l := f.list("/api/v1/secrets"); l.Code != http.StatusInternalServerError {
			t.Errorf("the default failure is %s", describe(l))
		}
	})
}

func TestGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.GoAway(1)
		resp := open(t, f.client, http.MethodGet, "http://server/api/v1/configmaps", "")
		if !resp.Close {
			t.Error("the answer keeps the connection")
		}
		_ = resp.Body.Close()
		resp = open(t, f.client, http.MethodGet, "http://server/api/v1/configmaps", "")
		if resp.Close {
			t.Error("the next answer gives up the connection too")
		}
		_ = resp.Body.Close()
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

func TestSwallow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		f.SwallowInitialEventsEnd(true)
		const initial = configMaps + "&allowWatchBookmarks=1&timeoutSeconds=100&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
		w := f.watch(initial)
		w.want("ADDED a@2")
		f.touch("d/a")
		w.want("MODIFIED a@3", "BOOKMARK@3")
		f.SwallowBookmarks(true)
		f.touch("d/a")
		w.want("MODIFIED a@4")
		w.wantEnd(io.EOF)
		f.SwallowInitialEventsEnd(false)
		f.watch(initial).want("ADDED a@4", "BOOKMARK@4 end")
	})
}

func TestFrozenReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		b := f.Replica("b")
		b.Freeze()
		b.Freeze() // does nothing more
		f.touch("d/a")
		f.create("d/b")
		f.Compact() // does not take the frozen state away
		f.Route(b)
		if rv, frozen := b.Frozen(); rv != "2" || !frozen {
			t.Errorf("frozen at %s: %v", rv, frozen)
		}
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "2: d/a" {
			t.Errorf("its cache has %s", describe(l))
		}
		old := f.watch(configMaps + "&resourceVersion=2")
		ahead := f.watch(configMaps + "&resourceVersion=3")
		synctest.Wait()
		b.Unfreeze()
		old.want("MODIFIED a@3", "ADDED b@4")
		ahead.want("ADDED b@4")
		if l := f.list("/api/v1/configmaps?resourceVersion=0"); describe(l) != "4: d/a d/b" {
			t.Errorf("it has caught up to %s", describe(l))
		}
		// A new replica has no history.
		f.Route(f.Replica("c"))
		f.watch(configMaps + "&resourceVersion=3").want("ERROR Expired")
	})
}

// A list that waits for a frozen replica is answered when it catches up.
func TestWaitForReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		b := f.Replica("b")
		b.Freeze()
		rv := f.create("d/a")
		f.Route(b)
		time.AfterFunc(2*time.Second, b.Unfreeze)
		a := f.get("/api/v1/configmaps?resourceVersion=" + rv)
		if a.code != http.StatusOK || a.took != 2*time.Second {
			t.Errorf("%d after %v", a.code, a.took)
		}
	})
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
