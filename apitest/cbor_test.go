package apitest

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/relist-go/relist/watchcache"
)

// cbor gets an answer as CBOR unless header has another Accept.
func (f *fixture) cbor(path string, header ...string) answer {
	f.Helper()
	got := f.get(path, append([]string{"Accept: " + cborMediaType + ",application/json"}, header...)...)
	if got.err != nil {
		f.Fatal(got.err)
	}
	return got
}

// items decodes items of CBOR that follow each other, each with its tag.
func items(t *testing.T, b string) (all []map[string]any) {
	t.Helper()
	for rest := []byte(b); len(rest) > 0; {
		var item []byte
		item, rest, _ = cutCBOR(rest)
		if !strings.HasPrefix(string(item), cborTag) {
			t.Errorf("no tag: %.80q", item)
		}
		var v map[string]any
		if err := direct.Unmarshal(item, &v); err != nil {
			t.Fatalf("%.80q: %v", item, err)
		}
		all = append(all, v)
	}
	return all
}

func capturedCBOR(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../testdata/captures/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var configMapTable = &table{res: &Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"}}

// again is a revision of an object that was decoded.
func again(t *testing.T, obj map[string]any) *revision {
	t.Helper()
	meta, _ := obj["metadata"].(map[string]any)
	r, err := newRevision(configMapTable.res, obj, mustRV(t, str(meta, "resourceVersion")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sameCBOR compares what was written with what a kube-apiserver sent, whose members come in any order: the same bytes
// stand in both.
func sameCBOR(t *testing.T, want string, got []byte) {
	t.Helper()
	if diff := cmp.Diff(items(t, want), items(t, string(got))); diff != "" {
		t.Errorf("-kube-apiserver +apitest:\n%s", diff)
	}
	a, b := []byte(want), slices.Clone(got)
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestCBORAsARealServerWritesIt(t *testing.T) {
	f := cborFormat{t: configMapTable}
	want := capturedCBOR(t, "list-cbor.bin")
	list := items(t, want)[0]
	objects, _ := list["items"].([]any)
	var page []*revision
	for _, obj := range objects {
		m, _ := obj.(map[string]any)
		page = append(page, again(t, m))
	}
	if len(page) != 2 {
		t.Fatalf("%d items", len(page))
	}
	meta, _ := list["metadata"].(map[string]any)
	got := f.listHead(nil, metav1.ListMeta{ResourceVersion: str(meta, "resourceVersion")}, page)
	for i, r := range page {
		got = f.item(got, i, r)
	}
	sameCBOR(t, want, f.listTail(got))

	want = capturedCBOR(t, "watch-cbor.bin")
	got = nil
	for _, event := range items(t, want) {
		obj, _ := event["object"].(map[string]any)
		if str(event, "type") == "BOOKMARK" {
			got = f.bookmark(got, again(t, obj).rv, true)
			continue
		}
		got = f.event(got, eventType(str(event, "type")), again(t, obj))
	}
	sameCBOR(t, want, got)

	err := watchcache.TooLarge(99999999, 203)
	sameCBOR(t, capturedCBOR(t, "list-rv-too-large-cbor.bin"), cborStatus(statusOf(err)))
}

func TestCBORForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{CBOR: true})
		f.must("configmaps", "a")
		f.must("pods", "p")
		f.must("widgets.example.com", "w")
		const (
			metadata = cborMediaType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
			table    = cborMediaType + ";as=Table;g=meta.k8s.io;v=v1"
		)
		for _, test := range []struct {
			path, accept string
			media, kind  string // kind "" is none: an answer in JSON
		}{
			{"/api/v1/namespaces/default/configmaps/a", cborMediaType, cborMediaType, "v1 ConfigMap"},
			{"/api/v1/namespaces/default/pods/p", cborMediaType + ",application/json", cborMediaType, "v1 Pod"},
			{"/api/v1/namespaces/default/pods/p", metadata, cborMediaType, "meta.k8s.io/v1 PartialObjectMetadata"},
			{"/api/v1/pods", cborMediaType, cborMediaType, "v1 PodList"},
			{"/apis/example.com/v1/widgets", cborMediaType, cborMediaType, "example.com/v1 WidgetList"},
			{"/api/v1/pods", strings.Replace(metadata, "Metadata;", "MetadataList;", 1) + "beta1", cborMediaType, "meta.k8s.io/v1beta1 PartialObjectMetadataList"},
			{"/api/v1/pods", metadata + ",application/json", "application/json", ""},
			{"/api/v1/pods", table + ",application/json", "application/json", ""},
			{"/api/v1/pods", "application/cbor-seq", "application/json", ""},
			{"/api/v1/pods", "application/json," + cborMediaType, "application/json", ""},
			{"/apis/example.com/v1/widgets", protobufMediaType + "," + cborMediaType, cborMediaType, "example.com/v1 WidgetList"},
			{"/api/v1/namespaces/default/configmaps/none", cborMediaType, cborMediaType, "v1 Status"},
			{"/apis/example.com/v1/namespaces/default/widgets/none", cborMediaType + ",application/json", cborMediaType, "v1 Status"},
			{"/api/v1/pods?resourceVersion=x", "application/json," + cborMediaType, "application/json", ""},
			{"/api/v1", cborMediaType + ",application/json", "application/json", ""},
		} {
			got := f.cbor(test.path, "Accept: "+test.accept)
			if media := got.header.Get("Content-Type"); media != test.media {
				t.Errorf("%s as %s: Content-Type %s, want %s", test.path, test.accept, media, test.media)
				continue
			}
			if test.kind == "" {
				continue
			}
			v := items(t, got.body)
			if kind := str(v[0], "apiVersion") + " " + str(v[0], "kind"); len(v) != 1 || kind != test.kind {
				t.Errorf("%s as %s is a %s, want %s", test.path, test.accept, kind, test.kind)
			}
		}
	})
}

func TestCBORIsOffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.must("configmaps", "a")
		if got := f.cbor("/api/v1/configmaps"); got.header.Get("Content-Type") != "application/json" {
			t.Errorf("got %v", got.header)
		}
		if got := f.cbor("/api/v1/configmaps", "Accept: "+cborMediaType); got.code != http.StatusNotAcceptable || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("got %d, %v", got.code, got.header)
		}
	})
}

// TestCBORItems: only custom objects and metadata alone say in a list what they are.
func TestCBORItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{CBOR: true})
		f.must("configmaps", "a")
		f.must("widgets.example.com", "w")
		for path, want := range map[string]string{"/api/v1/configmaps": " ", "/apis/example.com/v1/widgets": "example.com/v1 Widget"} {
			list := items(t, f.cbor(path).body)[0]
			all, _ := list["items"].([]any)
			item, _ := all[0].(map[string]any)
			if got := str(item, "apiVersion") + " " + str(item, "kind"); got != want {
				t.Errorf("an item of %s says %q, want %q", path, got, want)
			}
		}
	})
}

// TestCBORListOfEveryLength has each size of a head.
func TestCBORListOfEveryLength(t *testing.T) {
	r := again(t, configMap("default", "a"))
	f := cborFormat{t: configMapTable}
	for _, n := range []int{0, 1, 23, 24, 255, 256, 65535, 65536} {
		page := slices.Repeat([]*revision{r}, n)
		b := f.listHead(nil, metav1.ListMeta{}, page)
		one := f.item(nil, 0, r)
		for range page {
			b = append(b, one...)
		}
		list := items(t, string(f.listTail(b)))
		if all, _ := list[0]["items"].([]any); len(list) != 1 || len(all) != n {
			t.Errorf("%d items, want %d", len(all), n)
		}
	}
}

func TestCBORValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{CBOR: true})
		if _, err := f.Create("secrets", map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": "s"},
			"data":     map[string]any{"b": "AQID", "x": "no base64", "n": 1.5, "i": 7, "nil": nil},
		}); err != nil {
			t.Fatal(err)
		}
		got := f.cbor("/api/v1/namespaces/default/secrets/s").body
		if !strings.Contains(got, "Ab\xd6C\x01\x02\x03") {
			t.Errorf("b is no bytes: %q", got)
		}
		want := map[string]any{"b": "AQID", "x": "no base64", "n": 1.5, "i": int64(7), "nil": nil}
		if diff := cmp.Diff(want, items(t, got)[0]["data"]); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
	})
}

const cborWatch = "/api/v1/configmaps?watch=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"

func cborEvent(event map[string]any) string {
	obj, _ := event["object"].(map[string]any)
	meta, _ := obj["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	return fmt.Sprint(event["type"], " ", obj["apiVersion"], " ", obj["kind"], " ", str(meta, "name"), str(obj, "reason"), " ", str(annotations, metav1.InitialEventsAnnotationKey))
}

func TestCBORWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{CBOR: true, FreshnessTimeout: -1})
		f.must("configmaps", "a")
		for _, test := range []struct {
			path, accept string
			want         []string
		}{
			{cborWatch, cborMediaType, []string{"ADDED v1 ConfigMap a ", "BOOKMARK v1 ConfigMap  true"}},
			{cborWatch, cborMediaType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", []string{
				"ADDED meta.k8s.io/v1 PartialObjectMetadata a ", "BOOKMARK meta.k8s.io/v1 PartialObjectMetadata  true",
			}},
			{strings.Replace(cborWatch, "Version=0", "Version=9999", 1), cborMediaType, []string{"ERROR v1 Status Timeout "}},
		} {
			got := f.cbor(test.path, "Accept: "+test.accept)
			if media := got.header.Get("Content-Type"); media != cborStreamMediaType {
				t.Errorf("Content-Type is %s", media)
			}
			var events []string
			for _, event := range items(t, got.body) {
				events = append(events, cborEvent(event))
			}
			if diff := cmp.Diff(test.want, events); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%s", test.path, test.accept, diff)
			}
		}
	})
}

// TestCBOROverWebSocket: one event is one message of bytes.
func TestCBOROverWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{CBOR: true})
		f.must("configmaps", "a")
		f.must("configmaps", "b")
		w := f.socket(cborWatch, "Accept", cborMediaType)
		for _, want := range []string{"ADDED v1 ConfigMap a ", "ADDED v1 ConfigMap b ", "BOOKMARK v1 ConfigMap  true"} {
			typ, b, err := w.ws.ReadMessage()
			if err != nil || typ != websocket.BinaryMessage {
				t.Fatalf("got type %d, %v", typ, err)
			}
			if events := items(t, string(b)); len(events) != 1 || cborEvent(events[0]) != want {
				t.Errorf("got %v, want %s", events, want)
			}
		}
		w.wantClose(websocket.CloseNormalClosure)
	})
}

// TestCBORIsCutAnywhere: messages of a broken stream are what there is.
func TestCBORIsCutAnywhere(t *testing.T) {
	whole := string(cborFormat{t: configMapTable}.bookmark(nil, 7, true))
	stream := whole + whole
	for n := range stream {
		item, rest, complete := cutCBOR([]byte(stream[:n]))
		if string(item)+string(rest) != stream[:n] || n >= len(whole) && string(item) != whole || complete != (n >= len(whole)) {
			t.Fatalf("of %d bytes: %q, %q", n, item, rest)
		}
	}
}
