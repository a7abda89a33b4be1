package listwatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

const rawPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"shop","uid":"u1","resourceVersion":"7","labels":{"a":"b"}},"spec":{"x":[1,2.50,"<é\u003e"]}}`

func TestParseRaw(t *testing.T) {
	data := []byte(" " + rawPod + "\n")
	raw, err := listwatch.ParseRaw(data)
	must.OK(t, err)
	clear(data)
	if object.Key(raw) != "shop/web-0" || raw.GetUID() != "u1" || raw.GetResourceVersion() != "7" || raw.String() != "shop/web-0" {
		t.Errorf("identity = %s %s %s, %s", object.Key(raw), raw.GetUID(), raw.GetResourceVersion(), raw)
	}
	if string(raw.Bytes()) != rawPod || raw.Size() != len(rawPod) || !raw.IsJSON() {
		t.Errorf("Bytes() = %s", raw.Bytes())
	}
	if spare := cap(raw.Bytes()) - len(raw.Bytes()); spare > 0 {
		t.Errorf("%d bytes are kept for nothing", spare)
	}
	text, err := json.Marshal(raw)
	var again *listwatch.Raw
	if err != nil || json.Unmarshal(text, &again) != nil || object.Key(again) != "shop/web-0" {
		t.Errorf("as JSON it is %s, %v, and then %v", text, err, again)
	}
}

func TestParseRawRefuses(t *testing.T) {
	for _, bad := range []string{
		``, ` `, `null`, `[]`, `"pod"`, `{}`, `{"metadata":null}`, `{"metadata":{}}`, `{"metadata":{"name":null}}`, `{"metadata":{"name":""}}`,
		`{"metadata":"none"}`, `{"metadata":["name"]}`, `{"metadata":{"name":1}}`, `{"metadata":{"name":"a","namespace":{}}}`,
		`{"metadata":{"name":"a","uid":true}}`, `{"metadata":{"name":"a","resourceVersion":7}}`,
		`{"metadata"`, `{"metadata":{"name":"a"}`, `{"metadata":{"name":"a"}} {}`, `{"metadata":{"name":"a"}}]`, `{"metadata":{"name":"a"},}`,
		`{"metadata":{"name":"a"},"x":tru}`, `{"metadata":{"name":"a"},"x":"\x"}`, `{"metadata":{"name":"a","labels":{"a":}}}`, "{\"metadata\":{\"name\":\"a\nb\"}}",
		"\x0a\x7f", "\x0a\x02\x0a\x05", "k8s\x00", "\x12\x01x",
	} {
		if raw, err := listwatch.ParseRaw([]byte(bad)); err == nil {
			t.Errorf("%q: no error, but %v", bad, raw)
		}
	}
}

// Some servers have stored such objects, and every JSON parser of Go reads them.
func TestParseRawTakesOddJSON(t *testing.T) {
	for text, key := range map[string]string{
		`{"metadata":{"name":"a","name":"b"}}`:                         "a",
		`{"spec":1,"spec":2,"metadata":{"namespace":null,"name":"a"}}`: "a",
		`{"meta\u0064ata":{"n\u0061me":"\u0061\/b"}}`:                  "a/b",
		"{\"metadata\":{\"name\":\"a\"},\"data\":\"\xff\"}":            "a",
	} {
		raw, err := listwatch.ParseRaw([]byte(text))
		if err != nil || object.Key(raw) != key || string(raw.Bytes()) != text {
			t.Errorf("%s is %v, %v", text, raw, err)
		}
	}
}

func TestRawOfProtobuf(t *testing.T) {
	pod := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", UID: "u1", ResourceVersion: "7", Labels: map[string]string{"a": "b"}}}
	message, err := pod.Marshal()
	must.OK(t, err)
	message = append(message, "\x12\x04spec"...)
	want := string(message)
	raw, err := listwatch.ParseRaw(message)
	must.OK(t, err)
	clear(message)
	if object.Key(raw) != "shop/web-0" || raw.GetUID() != "u1" || raw.GetResourceVersion() != "7" || string(raw.Bytes()) != want || raw.IsJSON() {
		t.Errorf("got %s %s %s %q", object.Key(raw), raw.GetUID(), raw.GetResourceVersion(), raw.Bytes())
	}
	if text, err := json.Marshal(raw); err == nil {
		t.Errorf("as JSON it is %s", text)
	}
}

// Metadata of 123 bytes make a message begin as JSON with a line break in front.
func TestRawOfProtobufThatBeginsAsJSON(t *testing.T) {
	var pod metav1.PartialObjectMetadata
	for pod.ObjectMeta.Size() < '{' {
		pod.Name += "a"
	}
	message, err := pod.Marshal()
	if err != nil || !strings.HasPrefix(string(message), "\n{") {
		t.Fatalf("%q, %v", message, err)
	}
	raw, err := listwatch.ParseRaw(message)
	if err != nil || raw.GetName() != pod.Name || raw.IsJSON() || string(raw.Bytes()) != string(message) {
		t.Errorf("%v, %v", raw, err)
	}
	if raw, err = listwatch.ParseRaw([]byte("\n{\"metadata\":{\"name\":\"a\"}}")); err != nil || !raw.IsJSON() {
		t.Errorf("JSON with a line break in front: %v, %v", raw, err)
	}
}

// newClient returns a client for the server at url.
func newClient(t testing.TB, url string) *transport.Client {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: url})
	must.OK(t, err)
	t.Cleanup(client.Close)
	return client
}

// An object has the same bytes from a list, from a watch and from a Get, in every format, with
// members that are dropped and without.
func TestRawIsTheSameFromEverywhere(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	for _, obj := range []map[string]any{
		{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"namespace": "shop", "name": "a", "labels": map[string]any{"x": "y"}}, "data": map[string]any{"k": "v<>é"}},
		{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"namespace": "shop", "name": "b"}},
	} {
		if _, err := server.Create("configmaps", obj); err != nil {
			t.Fatal(err)
		}
	}
	client := newClient(t, url)
	for name, test := range map[string]struct {
		opts  listwatch.Options[*listwatch.Raw]
		start string // of each object
		lacks string
	}{
		"JSON":             {listwatch.Options[*listwatch.Raw]{}, `{"kind":"ConfigMap","apiVersion":"v1","metadata":`, "nothing"},
		"JSON, dropped":    {listwatch.Options[*listwatch.Raw]{Drop: []string{"data", "metadata.labels"}}, `{"kind":"ConfigMap","apiVersion":"v1",`, `"x"`},
		"JSON, metadata":   {listwatch.Options[*listwatch.Raw]{MetadataOnly: true}, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`, `"k"`},
		"protobuf":         {listwatch.Options[*listwatch.Raw]{Encoding: listwatch.Protobuf}, "\x0a", "nothing"},
		"protobuf by Auto": {listwatch.Options[*listwatch.Raw]{Encoding: listwatch.Auto}, "\x0a", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, test.opts)
			must.OK(t, err)
			list, err := source.All(t.Context(), r, metav1.ListOptions{})
			if err != nil || len(list.Items) != 2 || len(list.Errors) > 0 {
				t.Fatalf("%+v, %v", list, err)
			}
			initial := true
			watch, err := r.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &initial, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
			must.OK(t, err)
			defer watch.Close()
			for _, item := range list.Items {
				event, err := watch.Next()
				if err != nil || event.Err != nil {
					t.Fatal(err, event.Err)
				}
				got, meta, err := r.Get(t.Context(), object.Key(item))
				if err != nil || meta.UID != item.GetUID() || meta.ResourceVersion != item.GetResourceVersion() {
					t.Fatal(err, meta)
				}
				if diff := cmp.Diff(string(item.Bytes()), string(event.Object.Bytes())); diff != "" {
					t.Errorf("an event differs from the list (-list +event):\n%s", diff)
				}
				if diff := cmp.Diff(string(item.Bytes()), string(got.Bytes())); diff != "" {
					t.Errorf("a Get differs from the list (-list +Get):\n%s", diff)
				}
				if !strings.HasPrefix(string(item.Bytes()), test.start) || strings.Contains(string(item.Bytes()), test.lacks) {
					t.Errorf("it is %s", item.Bytes())
				}
				if again, err := listwatch.ParseRaw(item.Bytes()); err != nil || again.String() != item.String() {
					t.Errorf("parsed again it is %v, %v", again, err)
				}
			}
		})
	}
}

// A list whose items are not all good: each bad one is an error of its own.
func TestRawOfBadItems(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
			{"metadata":{"name":"a","uid":"u"}}, {"kind":"Secret","metadata":{"name":"b"}}, null, {"metadata":{"name":7}}, {},
			{ "metadata":{"name":"c"} , "kind":"ConfigMap" } ]}`)
	}))
	defer server.Close()
	r, err := listwatch.New(newClient(t, server.URL), schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*listwatch.Raw]{})
	must.OK(t, err)
	page, err := r.List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	var got []string
	for _, item := range page.Items {
		got = append(got, string(item.Bytes()))
	}
	for _, bad := range page.Errors {
		got = append(got, bad.Meta.Key+": "+bad.Err.Error())
	}
	want := []string{
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u"}}`,
		`{ "metadata":{"name":"c"} , "kind":"ConfigMap" }`,
		"b: it is of kind Secret, but the objects of this resource are of kind ConfigMap",
		": decode into *listwatch.Raw: not a JSON object",
		": decode into *listwatch.Raw: metadata.name is not a string",
		": metadata.name is missing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items and errors differ (-want +got):\n%s", diff)
	}
}

func TestRawDropsNothingFromProtobuf(t *testing.T) {
	client := newClient(t, "http://127.0.0.1:1")
	_, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*listwatch.Raw]{Encoding: listwatch.Protobuf, Drop: []string{"status"}})
	if err == nil || !strings.Contains(err.Error(), "use JSON") {
		t.Errorf("error is %v", err)
	}
}

// FuzzRaw parses any bytes. What is taken is equivalent to what came in, and has the identity that
// a decoder finds.
func FuzzRaw(f *testing.F) {
	f.Add([]byte(rawPod))
	f.Add([]byte(` {"x":{"metadata":1},"metadata":{"name":"a","labels":{"uid":"\ud800"}}, "z":[1e5,null]} `))
	f.Add([]byte("\x0a\x03\x0a\x01a\x12\x04spec"))
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := listwatch.ParseRaw(data)
		if err != nil {
			return
		}
		if !bytes.Equal(raw.Bytes(), data) && !bytes.Equal(raw.Bytes(), bytes.Trim(data, " \t\r\n")) {
			t.Fatalf("%q became %q", data, raw.Bytes())
		}
		if !raw.IsJSON() {
			var partial metav1.PartialObjectMetadata
			if partial.Unmarshal(data) == nil && (object.Key(&partial) != object.Key(raw) || partial.UID != raw.GetUID() || partial.ResourceVersion != raw.GetResourceVersion()) {
				t.Fatalf("%q is %v, not %v", data, raw, &partial)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON", data)
		}
		again, err := listwatch.ParseRaw(raw.Bytes())
		if err != nil || !bytes.Equal(again.Bytes(), raw.Bytes()) || again.String() != raw.String() {
			t.Fatalf("%q is parsed again as %v, %v", data, again, err)
		}
	})
}
