package apitest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

const sparedHeader = spareHeader + ": off"

func TestFailForATimeAndForOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.failNext(Failure{For: time.Minute, UserAgent: "kube-rs", Status: 200, Raw: []byte("<html>"), ContentType: "text/html"})
		const theirs, ours = "User-Agent: kube-rs/5.0", "User-Agent: relist"
		for range 3 {
			if a := f.get("/api/v1/configmaps", theirs); a.code != 200 || a.body != "<html>" || a.header.Get("Content-Type") != "text/html" {
				t.Errorf("the client that is meant: %d %s", a.code, a.body)
			}
			if a := f.get("/api/v1/configmaps", ours); !strings.Contains(a.body, "ConfigMapList") {
				t.Errorf("another client: %d %s", a.code, a.body)
			}
			pass(19 * time.Second)
		}
		pass(3 * time.Second)
		if a := f.get("/api/v1/configmaps", theirs); !strings.Contains(a.body, "ConfigMapList") {
			t.Errorf("after the time: %d %s", a.code, a.body)
		}
		f.failNext(Failure{For: time.Minute, Count: 1})
		if a, b := f.get("/api/v1/configmaps"), f.get("/api/v1/configmaps"); a.code != 500 || b.code != 200 {
			t.Errorf("once within a minute: %d, %d", a.code, b.code)
		}
	})
}

// Who says so meets no fault, beside others that do.
func TestSparedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{BookmarkPeriod: time.Minute})
		rv := f.create("d/a")
		path := configMaps + "&allowWatchBookmarks=true&resourceVersion=" + rv
		spared, other := f.watch(path, sparedHeader), f.watch(path)
		f.Cut(Cut{Next: 1})
		f.Cut(Cut{Lists: true})
		f.failNext(Failure{Verb: "create"})
		f.GoAway(1)
		must.OK(t, f.Rewrite(Rewrite{Patch: map[string]any{"data": nil}}))
		must.OK(t, f.DropEvent("ADDED", 1))
		f.SwallowBookmarks(true)
		if a := f.do("POST", inD, `{"metadata":{"name":"b"}}`, sparedHeader); a.code != http.StatusCreated {
			t.Errorf("create: %d %s", a.code, a.body)
		}
		spared.want("ADDED b@3")
		f.Stall()
		f.touch("d/a")
		spared.want("MODIFIED a@4", "BOOKMARK@4")
		if n := f.CutWatches(0); n != 1 {
			t.Errorf("%d watches were cut, want the other one", n)
		}
		other.wantEnd(io.ErrUnexpectedEOF)
		must.OK(t, f.Resume())
		f.touch("d/b")
		spared.want("MODIFIED b@5")
		if l := f.get("/api/v1/configmaps", sparedHeader); l.err != nil || l.header.Get("Connection") == "close" {
			t.Errorf("list: %v %v", l.err, l.header)
		}
		if l := f.get("/api/v1/configmaps"); l.err == nil {
			t.Error("the list of another was not cut")
		}
		f.watch(path, sparedHeader)
		if w := f.get(path); w.err == nil {
			t.Error("the watch of another was not cut")
		}
		must.OK(t, f.Refuse(0))
		if a := f.get("/api/v1/configmaps", sparedHeader); a.code != http.StatusOK {
			t.Errorf("while others are refused: %d", a.code)
		}
	})
}

func TestCutLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a", "d/b")
		whole := f.get("/api/v1/configmaps").body
		for n := range len(whole) {
			if n := f.Cut(Cut{Lists: true, After: int64(n)}); n != 1 {
				t.Fatalf("%d lists, want 1", n)
			}
			if a := f.get("/api/v1/configmaps"); a.code != http.StatusOK || a.body != whole[:n] || a.err == nil {
				t.Fatalf("cut at %d: %d %q, %v", n, a.code, a.body, a.err)
			}
		}
		f.Cut(Cut{Lists: true, After: 7, Clean: true})
		if a := f.get("/api/v1/configmaps"); a.body != whole[:7] || a.err != nil {
			t.Errorf("a clean end at 7: %q, %v", a.body, a.err)
		}
		f.Cut(Cut{Lists: true, After: int64(len(whole))})
		if a := f.get("/api/v1/configmaps"); a.body != whole || a.err != nil {
			t.Errorf("cut behind its end: %q, %v", a.body, a.err)
		}
	})
}

func TestRewrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		rv := f.create("d/a")
		w := f.watch(configMaps + "&resourceVersion=" + rv)
		rewrite := func(x Rewrite) {
			t.Helper()
			if err := f.Rewrite(x); err != nil {
				t.Error(err)
			}
		}
		rewrite(Rewrite{Name: "b", Patch: map[string]any{"data": map[string]any{"v": int64(5)}}})
		rewrite(Rewrite{Resource: "configmaps", Namespace: "d", Type: "MODIFIED", Count: 2, Patch: map[string]any{
			"metadata": map[string]any{"resourceVersion": "opaque", "labels": map[string]any{"x": "y"}},
		}})
		lines := func(n int) (s string) {
			for range n {
				s += must.Get[string](t)(w.r.ReadString('\n'))
			}
			return s
		}
		f.touch("d/a")
		if got := lines(1); !strings.Contains(got, `"resourceVersion":"opaque"`) || !strings.Contains(got, `"labels":{"x":"y"}`) || !strings.Contains(got, `"v":"1"`) {
			t.Errorf("%s", got)
		}
		f.create("d/b")
		if got := lines(1); !strings.Contains(got, `"v":5`) || !strings.Contains(got, `"resourceVersion":"4"`) {
			t.Errorf("%s", got)
		}
		f.touch("d/a")
		f.touch("d/a")
		if got := lines(2); strings.Count(got, "opaque") != 1 || !strings.Contains(got, `"resourceVersion":"6"`) {
			t.Errorf("%s", got)
		}
		if a := f.get("/api/v1/configmaps"); strings.Contains(a.body, "opaque") || strings.Contains(a.body, `:5`) {
			t.Errorf("the objects themselves were changed: %s", a.body)
		}
	})
}

func TestBookmarkPeriodOfOpenWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		rv := f.create("d/a")
		w := f.watch("/api/v1/configmaps?watch=1&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnone&resourceVersion=" + rv)
		f.touch("d/a")
		begun := time.Now()
		synctest.Wait()
		f.SetBookmarkPeriod(5 * time.Second)
		w.want("BOOKMARK@3")
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the bookmark came after %v", took)
		}
		f.SetBookmarkPeriod(-1)
		f.touch("d/a")
		pass(time.Hour / 2)
		f.SetBookmarkPeriod(0)
		begun = time.Now()
		w.want("BOOKMARK@4")
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("the bookmark came after %v", took)
		}
	})
}

func TestClearFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.Cut(Cut{Next: 1})
		f.Cut(Cut{Lists: true})
		f.failNext(Failure{For: time.Hour})
		must.OK(t, f.DropEvent("ADDED", 1))
		must.OK(t, f.Rewrite(Rewrite{Patch: map[string]any{"data": nil}}))
		f.GoAway(1)
		f.ClearFaults()
		if a := f.get("/api/v1/configmaps"); a.code != 200 || a.err != nil || a.header.Get("Connection") == "close" {
			t.Errorf("%d %v", a.code, a.err)
		}
		w := f.watch(configMaps + "&resourceVersion=1")
		f.create("d/a")
		got, err := w.next()
		if err != nil || got.String() != "ADDED a@2" || got.Object.Data["v"] != "1" {
			t.Errorf("%v %v, %v", got, got.Object.Data, err)
		}
	})
}
