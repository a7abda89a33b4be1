package relay

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/server/watchcache"
	"github.com/relist-go/relist/transport/discovery"
)

// TestCustomTypes looks at which types have the kind in the items of a list.
func TestCustomTypes(t *testing.T) {
	for group, want := range map[string]bool{
		"": false, "apps": false, "networking.k8s.io": false, "gateway.networking.k8s.io": true, "snapshot.storage.k8s.io": true, "example.com": true,
	} {
		u := &upstream{}
		u.Group = group
		if got := wholeForm(u).custom; got != want {
			t.Errorf("%q: custom is %v, want %v", group, got, want)
		}
	}
}

// TestFields reads what a field selector can name from objects, also from odd ones.
func TestFields(t *testing.T) {
	for _, tt := range []struct{ resource, members, field, want string }{
		{"pods", `"spec":{"nodeName":"n1"}`, "spec.nodeName", "n1"},
		{"pods", `"spec":{"nodeName":null,"":"x"},"spec.":"x"`, "spec.nodeName", ""},
		{"pods", `"spec":"x"`, "spec.hostNetwork", "false"},
		{"pods", `"spec":{"hostNetwork":true}`, "spec.hostNetwork", "true"},
		{"pods", `"spec":{}`, "metadata.namespace", "shop"},
		{"pods", `"spec":{"nodeName":"n1"}`, "spec.host", "n1"},
		{"pods", `"status":{"podIPs":["1.2.3.4"]}`, "status.podIPs", ""},
		{"events", `"reportingComponent":"scheduler","source":{"component":"kubelet","host":"n1"}`, "source", "kubelet"},
		{"events", `"source":{"component":""},"reportingComponent":"scheduler"`, "source", "scheduler"},
		{"events", `"source":"x"`, "source", ""},
		{"jobs.batch", `"status":{"succeeded":2,"successful":3}`, "status.successful", "2"},
		{"jobs.batch", `"status":{}`, "status.successful", "0"},
	} {
		raw, err := listwatch.ParseRaw([]byte(`{"metadata":{"name":"a","namespace":"shop","resourceVersion":"5"},` + tt.members + `}`))
		must.OK(t, err)
		gr := schema.ParseGroupResource(tt.resource)
		o, err := newState(raw, selectableOf(discovery.Resource{GroupVersionResource: gr.WithVersion("v1"), Namespaced: true}))
		must.OK(t, err)
		if got := o.GetFields().Get(tt.field); got != tt.want {
			t.Errorf("%s of %s is %q, want %q", tt.field, tt.members, got, tt.want)
		}
	}
}

// TestReadsAreTheServers compares what the relay answers with what the server behind it answers,
// byte by byte.
func TestReadsAreTheServers(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		first := r.create("a", "n1")
		r.create("b", "n2")
		last := r.create("c", "n1")
		for _, path := range []string{
			"/api/v1/pods",
			"/api/v1/pods?limit=1",
			"/api/v1/pods?resourceVersion=0",
			"/api/v1/pods?resourceVersion=0&limit=1",
			"/api/v1/pods?resourceVersion=" + first,
			"/api/v1/pods?resourceVersion=" + last + "&limit=1",
			"/api/v1/pods?resourceVersion=" + last + "&limit=1&resourceVersionMatch=NotOlderThan",
			"/api/v1/pods?resourceVersion=" + first + "&resourceVersionMatch=Exact",
			"/api/v1/pods?resourceVersion=1&resourceVersionMatch=Exact",
			"/api/v1/pods?resourceVersion=0&labelSelector=app%3Db",
			"/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn1",
			"/api/v1/pods?resourceVersion=0&fieldSelector=spec.none%3Dn1",
			"/api/v1/pods?resourceVersion=x",
			"/api/v1/pods?resourceVersion=99",
			"/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99",
			"/api/v1/pods?resourceVersion=1&continue=x",
			"/api/v1/pods?continue=x",
			"/api/v1/namespaces/shop/pods?resourceVersion=0",
			"/api/v1/namespaces/none/pods?resourceVersion=0",
			"/api/v1/namespaces/shop/pods/a",
			"/api/v1/namespaces/shop/pods/a?resourceVersion=0",
			"/api/v1/namespaces/shop/pods/none?resourceVersion=0",
			"/api/v1/namespaces/shop/pods/a?limit=x&labelSelector=%21%21&fieldSelector=a&timeoutSeconds=a",
			"/api/v1/namespaces/shop/pods/a?resourceVersion=0&limit=x&labelSelector=app%3Db&fieldSelector=a",
			"/api/v1/namespaces/shop/pods/a?resourceVersion=0&resourceVersionMatch=Exact&sendInitialEvents=true&continue=x",
			"/api/v1/namespaces/shop/pods/a?resourceVersion=0&watch=1",
			"/api/v1/namespaces/shop/pods/a?watch=x&sendInitialEvents=true",
			"/api/v1",
			"/apis",
			"/healthz",
			"/livez",
		} {
			got, want := r.get(path), r.direct(path)
			same := func(name string) bool { return slices.Equal(got.header.Values(name), want.header.Values(name)) }
			if got.code != want.code || got.body != want.body || !same("Content-Type") || !same("Retry-After") || !same("Cache-Control") {
				t.Errorf("%s: %+v\nwant %+v", path, got, want)
			}
		}
	})
}

// TestContinueAfterA410 shows that a list which continues after a 410 goes on with a state that is
// not older than its first page, although the relay's cache is.
func TestContinueAfterA410(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		r.create("a", "n1")
		r.create("b", "n1")
		r.other()
		list := func(query string) (version, token string, count int) {
			var l metav1.PartialObjectMetadataList
			_ = json.Unmarshal([]byte(r.get("/api/v1/pods"+query).body), &l)
			return l.ResourceVersion, l.Continue, len(l.Items)
		}
		first, token, _ := list("?limit=1")
		r.server.ExpireContinue()
		_, token, _ = list("?limit=1&continue=" + token)
		if next, _, n := list("?continue=" + token); first != "4" || next != "5" || n != 1 {
			t.Errorf("the first page is of version %s, the next one with %d objects of version %s", first, n, next)
		}
	})
}

// TestMetadataOnly compares the other form that a relay writes.
func TestMetadataOnly(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		r.create("a", "n1")
		const path = "/api/v1/pods?resourceVersion=0"
		metadata := func(req *http.Request) {
			req.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		}
		got := r.do(r.http, "http://localhost"+path, metadata)
		if want := r.do(&http.Client{Transport: r.client.RoundTripper()}, path, metadata); got.body != want.body {
			t.Errorf("%s\nwant %s", got.body, want.body)
		}
	})
}

// TestIdleWatch shows that an idle watch over HTTP/2 lasts, although net/http resets a stream at
// its write deadline even if nothing is written.
func TestIdleWatch(t *testing.T) {
	t.Parallel()
	opts := Options{}
	play(t, opts, func(r *rig) {
		first := r.create("a", "n1")
		r.stop()
		r.protocols.SetHTTP1(false)
		r.protocols.SetUnencryptedHTTP2(true)
		r.start(opts)
		r.create("b", "n1")
		w := r.watch("timeoutSeconds=900&resourceVersion=" + first)
		if got := w.next(1); got != "ADDED b@3" {
			t.Fatal(got)
		}
		later(10 * time.Minute)
		r.create("c", "n1")
		if got := w.next(2); got != "ADDED c@4, EOF" {
			t.Errorf("a watch after ten idle minutes: %s", got)
		}
	})
}

// TestWebSocket shows a watch as messages. A browser sends its token as a protocol, which is not
// answered.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	guarded(t, Options{}, func(r *rig, _ *authority) {
		for token, want := range map[string]int{"t-alice": 101, "t-bob": 403, "t-dave": 401} {
			dialer := websocket.Dialer{
				NetDialContext: r.dial.Dial,
				Subprotocols:   []string{tokenProtocol + base64.RawURLEncoding.EncodeToString([]byte(token)), "plain"},
			}
			conn, resp, err := dialer.DialContext(r.Context(), "ws://localhost/api/v1/pods?watch=true&timeoutSeconds=1&resourceVersion=2", nil)
			if resp == nil || resp.StatusCode != want {
				r.Fatalf("%s: %v, %v, want %d", token, resp, err, want)
			}
			_ = resp.Body.Close()
			if err != nil {
				continue
			}
			_, message, err := conn.ReadMessage()
			if text := string(message); err != nil || !strings.HasPrefix(text, `{"type":"ADDED","object":{`) || strings.HasSuffix(text, "\n") || conn.Subprotocol() != "plain" {
				r.Errorf("%q as %q, %v", text, conn.Subprotocol(), err)
			}
			if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				r.Errorf("the end is %v", err)
			}
			_ = conn.Close()
		}
	})
}

// TestMostRecentState shows that a watch which asks for the most recent state gets it, although
// other types have moved the version and no bookmark has come: and that many who ask cost the
// server one list of one object and one watch.
func TestMostRecentState(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		r.create("a", "n1")
		r.other()
		r.forget()
		start := time.Now()
		readers := make(chan *reader)
		for range 20 {
			go func() {
				readers <- r.watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
			}()
		}
		for range 20 {
			w := <-readers
			if got, took := w.next(2), time.Since(start); got != "ADDED a@2, BOOKMARK @3" || took > 3*time.Second {
				t.Errorf("a watch of the most recent state: %s after %v", got, took)
			}
		}
		if lists, watches := r.count("limit=1"), r.count("watch="); lists > 2 || watches > 2 {
			t.Errorf("the server got %d lists and %d watches: %q", lists, watches, r.requests)
		}
	})
}

// early is an API server at version 50, whose watch at 0 begins with its objects in no order. The
// cache is filled with a list at 20 just then.
type early struct {
	cache  *watchcache.Cache
	events []source.Event[*metav1.PartialObjectMetadata]
}

func (e *early) List(context.Context, metav1.ListOptions) (*source.Page[*metav1.PartialObjectMetadata], error) {
	return &source.Page[*metav1.PartialObjectMetadata]{ResourceVersion: "50"}, nil
}

func (e *early) Watch(context.Context, metav1.ListOptions) (source.Watch[*metav1.PartialObjectMetadata], error) {
	return e, e.cache.Fill(20, nil)
}

func (e *early) Next() (next source.Event[*metav1.PartialObjectMetadata], err error) {
	next, e.events = e.events[0], e.events[1:]
	return next, nil
}

func (e *early) Close() error { return nil }

// TestMostRecentStateBeforeTheFirstList shows that the cache never says that it has a version that
// its source has not sent.
func TestMostRecentStateBeforeTheFirstList(t *testing.T) {
	server := &early{cache: watchcache.New(watchcache.Options{Wait: -1}), events: []source.Event[*metav1.PartialObjectMetadata]{
		{Type: object.Added, Meta: object.Meta{Key: "shop/a", ResourceVersion: "40"}},
		{Type: object.Added, Meta: object.Meta{Key: "shop/b", ResourceVersion: "10"}},
		{Type: object.Bookmark, Meta: object.Meta{ResourceVersion: "50"}},
	}}
	u := &upstream{cache: server.cache, feed: &feed{cache: server.cache}, metadata: server}
	_, err := u.refresh(t.Context())
	if at := u.cache.Version(); at > 20 || !errors.Is(err, watchcache.ErrNotReady) {
		t.Errorf("%v, and the cache is at %d; its source is at 20", err, at)
	}
}

// restored is an API server that is at 50. Before its watch sends the next event, a backup that is
// at 30 is restored, and the reflector lists.
type restored struct {
	early
	feed *feed
}

func (r *restored) Watch(context.Context, metav1.ListOptions) (source.Watch[*metav1.PartialObjectMetadata], error) {
	return r, nil
}

func (r *restored) Next() (source.Event[*metav1.PartialObjectMetadata], error) {
	if err := r.feed.BeginList(false).End("30", nil, false); err != nil {
		return source.Event[*metav1.PartialObjectMetadata]{}, err
	}
	return r.early.Next()
}

// TestMostRecentStateOverARestore shows the same for what a watch of the history before a list
// says.
func TestMostRecentStateOverARestore(t *testing.T) {
	cache := watchcache.New(watchcache.Options{Wait: -1})
	must.OK(t, cache.Fill(20, nil))
	server := &restored{feed: &feed{cache: cache}}
	server.events = []source.Event[*metav1.PartialObjectMetadata]{{Type: object.Bookmark, Meta: object.Meta{ResourceVersion: "50"}}}
	u := &upstream{cache: cache, feed: server.feed, metadata: server}
	if _, err := u.refresh(t.Context()); cache.Version() != 30 || !apierrors.IsTimeout(err) {
		t.Errorf("%v, and the cache is at %d; its source is at 30", err, cache.Version())
	}
}

// TestRestart shows that readers of a relay that was started anew go on where they were, and that
// the server is not listed.
func TestRestart(t *testing.T) {
	t.Parallel()
	opts := Options{Dir: t.TempDir()}
	play(t, opts, func(r *rig) {
		first := r.create("a", "n1")
		r.create("b", "n2")
		w := r.watch("resourceVersion=" + first)
		if got := w.next(1); got != "ADDED b@3" {
			t.Fatal(got)
		}
		r.stop()
		if got := w.next(1); got != "EOF" {
			t.Errorf("a watch of a relay that ends: %s", got)
		}
		r.create("c", "n3")
		r.forget()
		r.start(opts)
		if got := r.watch("resourceVersion=" + first).next(2); got != "ADDED b@3, ADDED c@4" {
			t.Errorf("a watch of the relay's next process: %s", got)
		}
		if lists := r.count("/api/v1/pods?limit"); lists > 0 {
			t.Errorf("the server got %d lists: %q", lists, r.requests)
		}
	})
}

// TestLeftFiles shows that the files of processes that were killed while they saved do not fill the
// disk.
func TestLeftFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := filepath.Join(dir, "pods.v1..window.1.tmp")
	must.OK(t, os.WriteFile(left, []byte("half"), 0o600))
	must.OK(t, os.Chtimes(left, time.Time{}, time.Unix(0, 0)))
	play(t, Options{Dir: dir}, func(r *rig) {
		r.create("a", "n1")
		r.stop()
	})
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 || filepath.Base(names[0]) != "pods.v1..window" {
		t.Errorf("the folder has %q", names)
	}
}

// TestServerIsAway shows what readers learn while the server cannot be reached.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	play(t, Options{MaxStaleness: 5 * time.Minute}, func(r *rig) {
		r.create("a", "n1")
		const path = "/api/v1/pods?resourceVersion=0"
		must.OK(t, r.server.Refuse(0))
		later(2 * time.Minute)
		now := r.get(path)
		age, err := strconv.Atoi(now.header.Get("Age"))
		if now.code != http.StatusOK || err != nil || age < 119 || age > 121 {
			t.Errorf("after two minutes: %+v", now)
		}
		if now := r.get("/readyz"); now.code != http.StatusOK || now.body != "pods ok, 2m0s old; requests to the API server have failed for 2m0s: the log says why\n" {
			t.Errorf("after two minutes: %+v", now)
		}
		for _, query := range []string{"", "?watch=true", "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"} {
			if now := r.get("/api/v1/pods" + query); now.code != http.StatusServiceUnavailable || !strings.Contains(now.body, "the relay cannot reach the API server") {
				t.Errorf("the most recent state, %q: %+v", query, now)
			}
		}
		later(4 * time.Minute)
		if now := r.get(path); now.code != http.StatusServiceUnavailable {
			t.Errorf("after six minutes: %+v", now)
		}
		if now := r.get("/readyz"); now.code != http.StatusServiceUnavailable {
			t.Errorf("after six minutes: %+v", now)
		}
	})
}

// TestHealthyServerIsNotTooOld asks for an idle type each second, behind a server whose watches are
// cut, with the least limit that New takes.
func TestHealthyServerIsNotTooOld(t *testing.T) {
	t.Parallel()
	play(t, Options{MaxStaleness: MinStaleness}, func(r *rig) {
		r.create("a", "n1")
		for second := range 3600 {
			if second%10 == 0 {
				r.other()
			}
			if second%97 == 0 {
				r.server.CutWatches(0)
			}
			later(time.Second)
			if got := r.get("/api/v1/pods?resourceVersion=0"); got.code != http.StatusOK {
				r.Fatalf("after %d seconds: %+v", second, got)
			}
		}
	})
	if _, err := New(nil, Options{Authenticate: ClientCertificates, Authorize: AllowAll, MaxStaleness: time.Minute}); err == nil || !strings.Contains(err.Error(), "3m0s or more") {
		t.Errorf("a limit of a minute: %v", err)
	}
}

// TestFolder shows that a window gets its folder, and that a relay says at once if it cannot have
// one.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	opts := Options{Authenticate: ClientCertificates, Authorize: AllowAll, Dir: dir}
	if _, err := New(nil, opts); err != nil {
		t.Error(err)
	}
	opts.Dir = filepath.Join(dir, "file")
	if err := os.WriteFile(opts.Dir, nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := New(nil, opts); err == nil || !strings.Contains(err.Error(), opts.Dir) {
		t.Errorf("a file instead of a folder: %v", err)
	}
	if _, err := New(nil, Options{Authenticate: ClientCertificates, Authorize: AllowAll, SaveEvery: -1}); err == nil || !strings.Contains(err.Error(), "SaveEvery is -1ns") {
		t.Errorf("a negative SaveEvery: %v", err)
	}
}

// TestTypeIsGone shows what readers get while the server has no such type, because its
// CustomResourceDefinition was deleted.
func TestTypeIsGone(t *testing.T) {
	t.Parallel()
	play(t, Options{MaxStaleness: MinStaleness}, func(r *rig) {
		last := r.create("a", "n1")
		w := r.watch("resourceVersion=" + last)
		for _, verb := range []string{"list", "watch"} {
			if err := r.server.FailNext(apitest.Failure{
				Verb: verb, Resource: "pods", For: 10 * time.Minute,
				Status: http.StatusNotFound, Raw: []byte("404 page not found\n"), ContentType: "text/plain; charset=utf-8", // as kube-apiserver
			}); err != nil {
				r.Fatal(err)
			}
		}
		r.server.CutWatches(0)
		if got := w.next(2); got != "ERROR 404, EOF" {
			r.Errorf("a watch of the type: %s", got)
		}
		later(5 * time.Minute)
		for _, query := range []string{"", "?resourceVersion=0", "?watch=true&resourceVersion=" + last} {
			if got := r.get("/api/v1/pods" + query); got.code != http.StatusNotFound || !strings.Contains(got.body, "could not find the requested resource") {
				r.Errorf("%q: %+v", query, got)
			}
		}
		if got := r.get("/readyz"); got.code != http.StatusOK || got.body != "pods not found at the API server\n" {
			r.Errorf("the other types are served, and /readyz is %+v", got)
		}
		later(6 * time.Minute)
		if got := r.get("/api/v1/pods?resourceVersion=0"); got.code != http.StatusOK {
			r.Errorf("the type is back: %+v", got)
		}
	})
}

// TestRestoredBackup shows that watches end if the server goes back, and that the relay has the
// server's objects then, also those with a version that another change had before.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		first := r.create("a", "n1")
		label := func(value string) {
			if _, err := r.server.Patch("pods", "shop", "a", map[string]any{"metadata": map[string]any{"labels": map[string]any{"of": value}}}); err != nil {
				t.Fatal(err)
			}
		}
		label("before")
		last := r.create("b", "n2")
		w := r.watch("resourceVersion=" + last)
		must.OK(t, errors.Join(r.server.Refuse(0), r.server.Restore(apitest.Restore{ResourceVersion: first})))
		label("now")
		must.OK(t, r.server.Resume())
		if got := w.next(2); got != "ERROR 410, EOF" {
			t.Errorf("a watch over a restored backup: %s", got)
		}
		synctest.Wait()
		if got := r.watch("resourceVersion=0&labelSelector=of%3Dnow").next(1); got != "ADDED a@3" {
			t.Errorf("the state afterwards: %s", got)
		}
	})
}

// TestWrongEvents shows that what the server's watch does not say, or says wrong, does not stay: an
// event that nobody could read is asked about at once, and one that was lost is found by the next
// comparison. Then the relay has what the server has.
func TestWrongEvents(t *testing.T) {
	t.Parallel()
	const at = "/api/v1/pods?resourceVersion=0"
	metadata := func(name string, value any) apitest.Rewrite {
		return apitest.Rewrite{Patch: map[string]any{"metadata": map[string]any{name: value}}}
	}
	for _, tt := range []struct {
		name  string
		fault func(*apitest.Server) error
		after time.Duration
	}{
		{"a lost deletion", func(s *apitest.Server) error { return s.DropEvent("DELETED", 1) }, 7 * time.Hour},
		{"a lost change", func(s *apitest.Server) error { return s.DropEvent("MODIFIED", 1) }, 7 * time.Hour},
		{"a lost object", func(s *apitest.Server) error { return s.DropEvent("ADDED", 1) }, 7 * time.Hour},
		{"labels", func(s *apitest.Server) error { return s.Rewrite(metadata("labels", "x")) }, time.Minute},
		{"owners", func(s *apitest.Server) error { return s.Rewrite(metadata("ownerReferences", "x")) }, time.Minute},
		{"time", func(s *apitest.Server) error { return s.Rewrite(metadata("creationTimestamp", "x")) }, time.Minute},
		{"not JSON", func(s *apitest.Server) error {
			s.Inject([]byte(`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","resourceVersion":"4"},"spec":{]}}`))
			return nil
		}, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, Options{}, func(r *rig) {
				r.create("a", "n")
				r.create("b", "n")
				if err := tt.fault(r.server); err != nil {
					r.Fatal(err)
				}
				if _, err := r.server.Patch("pods", "shop", "a", map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "y"}}}); err != nil {
					r.Fatal(err)
				}
				if _, err := r.server.Delete("pods", "shop", "b"); err != nil {
					r.Fatal(err)
				}
				r.create("c", "n")
				for range int(tt.after / time.Minute) {
					later(time.Minute)
					r.other()
				}
				later(time.Minute)
				got, want := r.get(at), r.direct(at)
				items := func(a answer) string { _, after, _ := strings.Cut(a.body, `"items"`); return after }
				if items(got) != items(want) {
					r.Errorf("the relay has %s\nwant %s", got.body, want.body)
				}
			})
		})
	}
}

// TestPagesThatAreNewerThanTheCache lists in pages while only other types are written.
func TestPagesThatAreNewerThanTheCache(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		r.create("a", "n1")
		r.create("b", "n2")
		if _, err := r.server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "other"}}); err != nil {
			r.Fatal(err)
		}
		first := r.get("/api/v1/pods?limit=1")
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal([]byte(first.body), &list); err != nil || list.Continue == "" {
			r.Fatalf("%v, %+v", err, first)
		}
		next := "/api/v1/pods?limit=1&continue=" + list.Continue
		if got, want := r.get(next), r.direct(next); got.code != 200 || got.body != want.body {
			r.Errorf("%+v\nwant %+v", got, want)
		}
	})
}
