package apitest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/server/watchcache"
)

// protobuf gets an answer, as protobuf unless header has another Accept.
func (f *fixture) protobuf(path string, header ...string) (http.Header, []byte) {
	f.Helper()
	for i, h := range header {
		if !strings.HasPrefix(h, "Accept:") {
			continue
		}
		got := f.get(path, header[i:]...)
		return got.header, []byte(got.body)
	}
	got := f.get(path, append(header, "Accept: "+protobufMediaType+",application/json")...)
	if got.err != nil {
		f.Fatal(got.err)
	}
	return got.header, []byte(got.body)
}

// must creates an object of that name.
func (f *fixture) must(resource, name string) {
	f.Helper()
	if _, err := f.Create(resource, map[string]any{"metadata": map[string]any{"name": name, "namespace": "default"}}); err != nil {
		f.Fatal(err)
	}
}

// opened returns what is in an envelope.
func opened(t *testing.T, b []byte) runtime.Unknown {
	t.Helper()
	var u runtime.Unknown
	rest, ok := bytes.CutPrefix(b, protobufMagic)
	if !ok {
		t.Fatalf("no envelope: %.80q", b)
	}
	must.OK(t, u.Unmarshal(rest))
	return u
}

// TestProtobufAsARealServerWritesIt has the objects of a capture written again: byte by byte the
// same.
func TestProtobufAsARealServerWritesIt(t *testing.T) {
	want, err := os.ReadFile("../testdata/captures/list-protobuf.bin")
	must.OK(t, err)
	var list metav1.PartialObjectMetadataList
	must.OK(t, list.Unmarshal(opened(t, want).Raw))
	// Each has one entry of data: v, and a digit.
	var items []*revision
	values := map[string]string{}
	for _, item := range list.Items {
		_, v, _ := bytes.Cut(want, []byte(item.UID))
		_, v, _ = bytes.Cut(v, []byte("\x0a\x01v\x12\x01"))
		v = v[:1]
		values[item.Name] = string(v)
		r, err := newRevision(&Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"}, map[string]any{
			"metadata": asMap(t, item.ObjectMeta), "data": map[string]any{"v": string(v)},
		}, mustRV(t, item.ResourceVersion))
		must.OK(t, err)
		items = append(items, r)
	}
	f, _ := newProtobufFormat(&table{res: &Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"}}, whole, "")
	got := f.listHead(nil, list.ListMeta, items)
	for i, r := range items {
		got = f.item(got, i, r)
	}
	if got = f.listTail(got); !bytes.Equal(want, got) {
		t.Errorf("with %v: got\n%q\nwant\n%q", values, got, want)
	}
}

func asMap(t *testing.T, meta metav1.ObjectMeta) map[string]any {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	must.OK(t, err)
	return m
}

func mustRV(t *testing.T, s string) uint64 {
	t.Helper()
	rv, err := watchcache.ParseVersion(s)
	must.OK(t, err)
	return rv
}

func TestProtobufForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.must("configmaps", "a")
		f.must("secrets", "s")
		f.must("pods", "p")
		const metadata = protobufMediaType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		for _, test := range []struct {
			path, accept string
			media, kind  string // kind "" is none: an answer in JSON
		}{
			{"/api/v1/namespaces/default/configmaps/a", protobufMediaType, protobufMediaType, "ConfigMap"},
			{"/api/v1/namespaces/default/secrets/s", protobufMediaType, protobufMediaType, "Secret"},
			{"/api/v1/namespaces/default/pods/p", protobufMediaType + ",application/json", protobufMediaType, "Pod"},
			{"/apis/example.com/v1/widgets", protobufMediaType + ",application/json", "application/json", ""},
			{"/api/v1/namespaces/default/pods/p", metadata, protobufMediaType, "PartialObjectMetadata"},
			{"/api/v1/configmaps", protobufMediaType, protobufMediaType, "ConfigMapList"},
			{"/api/v1/pods", strings.Replace(metadata, "Metadata;", "MetadataList;", 1), protobufMediaType, "PartialObjectMetadataList"},
			{"/api/v1/pods", metadata + ",application/json", "application/json", ""},
			{"/api/v1/namespaces/default/configmaps/none", protobufMediaType, protobufMediaType, "Status"},
			{"/api/v1/pods?resourceVersion=x", protobufMediaType + ",application/json", protobufMediaType, "Status"},
			{"/api/v1/pods?resourceVersion=x", "application/json," + protobufMediaType, "application/json", ""},
		} {
			header, b := f.protobuf(test.path, "Accept: "+test.accept)
			if got := header.Get("Content-Type"); got != test.media {
				t.Errorf("%s as %s: Content-Type %s, want %s", test.path, test.accept, got, test.media)
				continue
			}
			if test.kind == "" {
				continue
			}
			if u := opened(t, b); u.Kind != test.kind {
				t.Errorf("%s as %s is a %s, want %s", test.path, test.accept, u.Kind, test.kind)
			}
		}
	})
}

func TestProtobufWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.must("configmaps", "a")
		_, b := f.protobuf("/api/v1/configmaps?watch=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1")
		_, gone := f.protobuf("/api/v1/configmaps?watch=1&resourceVersion=99999&timeoutSeconds=1&sendInitialEvents=x")
		if u := opened(t, gone); u.Kind != "Status" {
			t.Errorf("got %q", gone)
		}
		var got []string
		for len(b) > 0 {
			n := binary.BigEndian.Uint32(b)
			var event metav1.WatchEvent
			must.OK(t, event.Unmarshal(b[4:4+n]))
			b = b[4+n:]
			u := opened(t, event.Object.Raw)
			var partial metav1.PartialObjectMetadata
			must.OK(t, partial.Unmarshal(u.Raw))
			got = append(got, fmt.Sprint(event.Type, " ", u.Kind, " ", partial.Name, " ", partial.Annotations[metav1.InitialEventsAnnotationKey]))
		}
		if len(got) < 2 || got[0] != "ADDED ConfigMap a " || got[1] != "BOOKMARK ConfigMap  true" {
			t.Errorf("got %q", got)
		}
	})
}

func TestProtobufListIsCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		for i := range 600 {
			f.must("configmaps", fmt.Sprintf("c%d-%s", i, strings.Repeat("x", 200)))
		}
		_, plain := f.protobuf("/api/v1/configmaps")
		header, zipped := f.protobuf("/api/v1/configmaps", "Accept-Encoding: gzip")
		if header.Get("Content-Encoding") != "gzip" || len(zipped) >= len(plain) {
			t.Fatalf("%d bytes, as %v", len(zipped), header)
		}
		r, err := gzip.NewReader(bytes.NewReader(zipped))
		must.OK(t, err)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(plain, got) {
			t.Errorf("%d bytes, %v, want %d", len(got), err, len(plain))
		}
	})
}

// TestProtobufIsEncodedOnce, however many lists and watches there are of a state.
func TestProtobufIsEncodedOnce(t *testing.T) {
	res := Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"}
	r := must.Get[*revision](t)(newRevision(&res, map[string]any{"metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"}}, 1))
	for _, form := range []form{whole, metadataOnly} {
		f, _ := newProtobufFormat(&table{res: &res}, form, "v1")
		first := f.message(r)
		if second := f.message(r); &first[0] != &second[0] {
			t.Errorf("form %d: encoded twice", form)
		}
	}
}
