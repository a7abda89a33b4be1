package apitest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

const configMaps = "/api/v1/configmaps?watch=1"

func TestWatchResumes(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  string // after b@3, a@4, deletion of b@5; with the window at 3 and later
	}{
		{"", "ADDED a@4"},
		{"&resourceVersion=0", "ADDED a@4"},
		{"&resourceVersion=0&allowWatchBookmarks=1", "ADDED a@4, BOOKMARK@5 end"},
		{"&resourceVersion=5", ""},
		{"&resourceVersion=4", "DELETED b@5"},
		{"&resourceVersion=3", "MODIFIED a@4, DELETED b@5"},
		{"&resourceVersion=2", "ERROR Expired"},
		{"&resourceVersion=99", ""},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "ADDED a@4"},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5&allowWatchBookmarks=1", "ADDED a@4, BOOKMARK@5 end"},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99", "ERROR Timeout"},
		{"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", ""},
		{"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=4", "DELETED b@5"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, Options{})
				f.create("d/a", "d/b") // 2, 3
				f.Compact()
				f.touch("d/a") // 4
				must.Get[string](t)(f.Delete("configmaps", "d", "b"))
				a := f.get(configMaps + "&timeoutSeconds=1" + tt.query)
				if a.err != nil {
					t.Fatal(a.err)
				}
				if got := frames(t, a.body); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				if took := a.took; took != time.Second && !strings.HasPrefix(tt.want, "ERROR") {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// frames sums up the body of a watch.
func frames(t *testing.T, body string) string {
	w := &watcher{T: t, r: bufio.NewReader(strings.NewReader(body))}
	var all []string
	for {
		f, err := w.next()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, ", ")
		}
		must.OK(t, err)
		all = append(all, f.String())
	}
}

func TestBookmarks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		opts  Options
		query string
		want  []string // "seconds frame"
	}{
		{name: "default", query: "&timeoutSeconds=150", want: []string{"60 BOOKMARK@3", "120 BOOKMARK@4", "148 BOOKMARK@4"}},
		{name: "short watch", query: "&timeoutSeconds=31", want: []string{"29 BOOKMARK@3"}},
		{name: "period", opts: Options{BookmarkPeriod: 10 * time.Second}, query: "&timeoutSeconds=25", want: []string{"10 BOOKMARK@3", "20 BOOKMARK@3", "23 BOOKMARK@3"}},
		{name: "none", opts: Options{BookmarkPeriod: -1}, query: "&timeoutSeconds=150"},
		{name: "not asked for", query: "&timeoutSeconds=150&allowWatchBookmarks=0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := serve(t, tt.opts)
				f.create("d/a")
				began := time.Now()
				if !strings.Contains(tt.query, "allow") {
					tt.query += "&allowWatchBookmarks=1"
				}
				w := f.watch(configMaps + "&resourceVersion=2" + tt.query)
				synctest.Wait()
				other := func() { // a change of another type, which only bookmarks tell of
					must.Get[string](t)(f.Create("secrets", map[string]any{"metadata": map[string]any{"namespace": "d", "generateName": "s-"}}))
				}
				other()
				defer time.AfterFunc(100*time.Second, other).Stop()
				var got []string
				for {
					fr, err := w.next()
					if errors.Is(err, io.EOF) {
						break
					}
					must.OK(t, err)
					got = append(got, fmt.Sprintf("%.0f %s", time.Since(began).Seconds(), fr))
				}
				if fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestWatchEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		if a := f.get(configMaps + "&resourceVersion=2"); a.took != 45*time.Minute || a.err != nil {
			t.Errorf("a watch without timeoutSeconds ended after %v, %v", a.took, a.err)
		}
	})
}

// A watcher that does not read keeps nobody waiting, holds one batch in the server, and is closed
// once the window has passed it.
func TestSlowWatchIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{Window: 10})
		const large = 100_000 // more than the buffers on the way
		must.Get[string](t)(f.Create("configmaps", configMap("d", "a", "v", strings.Repeat("x", large))))
		w, quick := f.watch(configMaps+"&resourceVersion=2"), f.watch(configMaps+"&resourceVersion=2")
		synctest.Wait()
		for i := range 12 {
			f.touch("d/a")
			quick.want(fmt.Sprint("MODIFIED a@", i+3))
			synctest.Wait() // the slow watch is in the middle of the first one
		}
		n := 0
		for {
			if _, err := w.next(); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("it ended with %v", err)
				}
				break
			}
			n++
		}
		if n != 1 {
			t.Errorf("it got %d changes of 12, want the one that it held", n)
		}
	})
}

// kube-apiserver sends a watch with initial events one more bookmark a second after it began, if
// something changed by then.
func TestSecondBookmark(t *testing.T) {
	for _, early := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, Options{})
			f.create("d/a")
			began := time.Now()
			w := f.watch(configMaps + "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
			w.want("ADDED a@2", "BOOKMARK@2 end")
			pass(map[bool]time.Duration{true: 200 * time.Millisecond, false: 3 * time.Second}[early])
			f.touch("d/a")
			w.want("MODIFIED a@3", "BOOKMARK@3")
			want := time.Minute + time.Second
			if early {
				want = time.Second
			}
			if took := time.Since(began); took != want {
				t.Errorf("the bookmark came after %v, want %v", took, want)
			}
		})
	}
}

func TestNegativeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		began := time.Now()
		w := f.watch(configMaps + "&timeoutSeconds=-1&resourceVersion=0")
		w.want("ADDED a@2")
		w.wantEnd(io.EOF)
		f.watch(configMaps + "&timeoutSeconds=-1&resourceVersion=2").wantEnd(io.EOF)
		if took := time.Since(began); took != 0 {
			t.Errorf("the watches took %v", took)
		}
	})
}

func TestPathsWithSlashes(t *testing.T) {
	f := serve(t, Options{})
	f.create("d/a")
	for path, want := range map[string]int{
		"//api/v1/namespaces/d/configmaps": 404, "//api/v1": 404, "//apis": 404, "//healthz": 404,
		"/api//v1/configmaps": 404, "/api/v1//configmaps": 404, "/api/v1/namespaces/d//configmaps": 404,
		"/api/v1/namespaces/d/configmaps/": 200, "/api/v1/namespaces/d/configmaps//": 200, "/api/v1/namespaces/d/configmaps/a/": 200, "/api/v1/": 200, "/apis/": 200,
	} {
		if a := f.get(path); a.code != want {
			t.Errorf("%s: %d, want %d", path, a.code, want)
		}
	}
}
