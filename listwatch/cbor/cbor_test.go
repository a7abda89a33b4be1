package cbor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data       map[string]string `json:"data"`
	BinaryData map[string][]byte `json:"binaryData"`
}

// marshal encodes as a kube-apiserver does.
func marshal(t testing.TB, v any) string {
	t.Helper()
	data, err := direct.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return "\xd9\xd9\xf7" + string(data)
}

// fromJSON decodes any value as apimachinery does.
func fromJSON(t testing.TB, text string) any {
	t.Helper()
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON([]byte(`{"kind":"X","value":` + text + `}`)); err != nil {
		t.Fatal(err)
	}
	return u.Object["value"]
}

func event(t testing.TB, typ, object string) string {
	t.Helper()
	return marshal(t, map[string]any{"type": typ, "object": fromJSON(t, object)})
}

// serve starts a server that answers a list and a watch with these bodies.
func serve(t testing.TB, list, stream string) *transport.Client {
	t.Helper()
	return start(t, transport.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			w.Header().Set("Content-Type", "application/cbor-seq")
			_, _ = io.WriteString(w, stream)
			return
		}
		w.Header().Set("Content-Type", "application/cbor")
		_, _ = io.WriteString(w, list)
	})
}

func start(t testing.TB, config transport.Config, handler http.HandlerFunc) *transport.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config.Server = server.URL
	client, err := transport.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func resource[T object.Object](t testing.TB, client *transport.Client) *listwatch.Client[T] {
	t.Helper()
	r, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[T]{Encoding: Encoding})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func list[T object.Object](t testing.TB, body string) (*listwatch.Page[T], error) {
	t.Helper()
	return resource[T](t, serve(t, body, "")).List(t.Context(), metav1.ListOptions{})
}

// events reads a stream to its end, and returns one line for each event.
func events(t testing.TB, client *transport.Client) (lines []string, err error) {
	t.Helper()
	w, err := resource[*configMap](t, client).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for {
		e, err := w.Next()
		if err != nil {
			return lines, err
		}
		line := fmt.Sprint(e.Type, " ", e.Meta.Key, "@", e.Meta.ResourceVersion)
		if e.Err != nil {
			line += " (bad)"
		}
		if e.InitialEventsEnd {
			line += " (end of initial events)"
		}
		lines = append(lines, line)
	}
}

const objectJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5","creationTimestamp":"2026-11-20T11:28:31Z",
	"managedFields":[{"manager":"m","fieldsV1":{"f:data":{}}}]},"data":{"k":"v"},"binaryData":{"b":"AQID"}}`

const listJSON = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"c","remainingItemCount":3},"items":[%s]}`

// TestCBOREqualsJSON shows for several types that an object from CBOR equals the
// object from JSON.
func TestCBOREqualsJSON(t *testing.T) {
	text := fmt.Sprintf(listJSON, objectJSON)
	jsonClient := start(t, transport.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	})
	client := serve(t, marshal(t, fromJSON(t, text)), "")
	same[*configMap](t, client, jsonClient)
	same[*unstructured.Unstructured](t, client, jsonClient)
	same[*metav1.PartialObjectMetadata](t, client, jsonClient)
	same[valueMap](t, client, jsonClient)
}

type valueMap struct {
	Metadata *metav1.ObjectMeta `json:"metadata"`
}

func (v valueMap) GetNamespace() string       { return v.Metadata.Namespace }
func (v valueMap) GetName() string            { return v.Metadata.Name }
func (v valueMap) GetUID() types.UID          { return v.Metadata.UID }
func (v valueMap) GetResourceVersion() string { return v.Metadata.ResourceVersion }

func same[T object.Object](t *testing.T, client, jsonClient *transport.Client) {
	t.Helper()
	got, err := resource[T](t, client).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := resource[T](t, jsonClient).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Items) != 1 {
		t.Fatalf("items are %+v, errors %v", want.Items, want.Errors)
	}
	if diff := cmp.Diff(want.Items, got.Items); diff != "" {
		t.Errorf("items differ (-JSON +CBOR):\n%s", diff)
	}
	if got.ResourceVersion != "9" || got.Continue != "c" || got.Remaining == nil || *got.Remaining != 3 {
		t.Errorf("list metadata is %q, %q, %v", got.ResourceVersion, got.Continue, got.Remaining)
	}
}

// TestItemsHaveTheirKind shows that items get a kind, although items of built-in types
// name none, and the list's apiVersion comes after the items.
func TestItemsHaveTheirKind(t *testing.T) {
	page, err := list[*unstructured.Unstructured](t, marshal(t, fromJSON(t, fmt.Sprintf(listJSON, `{"metadata":{"name":"a"}}`))))
	if err != nil || len(page.Items) != 1 || page.Items[0].GetKind() != "ConfigMap" || page.Items[0].GetAPIVersion() != "v1" {
		t.Errorf("got %+v, %v", page, err)
	}
	text := strings.Replace(fmt.Sprintf(listJSON, `{"metadata":{"name":"a"}}`), "ConfigMapList", "PartialObjectMetadataList", 1)
	partial, err := list[*metav1.PartialObjectMetadata](t, marshal(t, fromJSON(t, text)))
	if err != nil || len(partial.Items) != 1 || partial.Items[0].Kind != "PartialObjectMetadata" || partial.Items[0].APIVersion != "meta.k8s.io/v1" {
		t.Errorf("got %+v, %v", partial, err)
	}
}

func TestListBodies(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		items int
		err   string // "" is no error
	}{
		"empty":              {marshal(t, fromJSON(t, `{"kind":"L","items":[]}`)), 0, ""},
		"items null":         {marshal(t, fromJSON(t, `{"kind":"L","items":null}`)), 0, ""},
		"items absent":       {marshal(t, fromJSON(t, `{"kind":"ConfigMapList"}`)), 0, ""},
		"unknown members":    {marshal(t, fromJSON(t, `{"x":[1],"items":[{"metadata":{"name":"a"}}],"longer than any":{}}`)), 1, ""},
		"indefinite lengths": {"\xbf\x65items\x9f\xbf\x68metadata\xa1\x64name\x61a\xff\xff\xff", 1, ""},
		"byte strings":       {"\xa1\x45items\x81\xa1\x48metadata\xa1\x44name\x41a", 1, ""},
		"a table":            {marshal(t, fromJSON(t, `{"kind":"Table","rows":[]}`)), 0, "a Table instead of a list"},
		"an object":          {marshal(t, fromJSON(t, `{"kind":"ConfigMap"}`)), 0, `kind "ConfigMap" without items`},
		"metadata alone":     {marshal(t, fromJSON(t, `{"kind":"PartialObjectMetadataList","items":[]}`)), 0, "a PartialObjectMetadataList instead"},
		"an array":           {"\x80", 0, "want a map"},
		"items of a type":    {"\xa1\x65items\xa0", 0, "'{' where '[' should be"},
		"bad metadata":       {marshal(t, fromJSON(t, `{"metadata":{"resourceVersion":5}}`)), 0, "number into Go string"},
		"bad grammar":        {"\xa1\x65items\x81\x1c", 0, "no meaning, at byte 8"},
		"two lists":          {"\xa0\xa0", 0, "more follows"},
		"JSON":               {`{"kind":"ConfigMapList","items":[]}`, 0, "want a map"},
		"nothing":            {"", 0, "unexpected EOF"},
		"cut in a head":      {"\xb9\x00", 0, "unexpected EOF"},
		"cut in an item":     {"\xa1\x65items\x81\xa1\x68meta", 0, "unexpected EOF"},
		"cut before a break": {"\xbf\x65items\x80", 0, "unexpected EOF"},
		"cut in items":       {"\xa1\x65items\x9f", 0, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := list[*configMap](t, test.body)
			if test.err == "" {
				if err != nil || len(page.Items) != test.items || len(page.Errors) > 0 {
					t.Fatalf("got %+v, %v, want %d items", page, err, test.items)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error is %v, want %q", err, test.err)
			}
			if cut := strings.Contains(test.err, "EOF"); source.IsMalformed(err) == cut || errors.Is(err, io.ErrUnexpectedEOF) != cut {
				t.Errorf("%v: malformed %v", err, source.IsMalformed(err))
			}
		})
	}
}

func TestWatch(t *testing.T) {
	stream := event(t, "ADDED", objectJSON) +
		event(t, "MODIFIED", `{"kind":"ConfigMap","metadata":{"name":"b","resourceVersion":"6"},"data":7}`) +
		event(t, "DELETED", `{"kind":"Secret","metadata":{"name":"s"}}`) +
		event(t, "DELETED", objectJSON) +
		event(t, "BOOKMARK", `{"kind":"ConfigMap","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}`)
	got, err := events(t, serve(t, "", stream))
	want := []string{"ADDED n/a@5", "MODIFIED b@6 (bad)", "MODIFIED s@ (bad)", "DELETED n/a@5", "BOOKMARK @7 (end of initial events)"}
	if !cmp.Equal(want, got) || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v", got, err)
	}
	for stream, want := range map[string]string{
		event(t, "ERROR", `{"kind":"Status","code":410,"reason":"Expired","message":"too old"}`): "410 Expired: too old",
		event(t, "ERROR", `{"kind":"ConfigMap"}`):                                                "500 InternalError",
		event(t, "FROBNICATED", `{}`):                                                            "unknown type",
		"\xa1\x64type\x65ADDED":                                                                  "needs a type and an object",
		"\xa0":                                                                                   "needs a type and an object",
		"\xc0\x00":                                                                               "want a map",
		"\xa2\x64type\x68BOOKMARK\x66object\x61a":                                                "decode a bookmark",
		"{}":           "want a map",
		"\xa2\x64type": "unexpected EOF",
	} {
		if got, err := events(t, serve(t, "", stream)); len(got) > 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %q, %v, want %q", stream, got, err, want)
		}
	}
}

// TestIdentifyTakesWhatItCan cuts an object at each byte.
func TestIdentifyTakesWhatItCan(t *testing.T) {
	object := marshal(t, fromJSON(t, `{"metadata":{"uid":"u","name":"a","namespace":"n","resourceVersion":"5"},"specification":{}}`))
	whole := listwatch.Meta{Key: "n/a", UID: "u", ResourceVersion: "5"}
	if got := Encoding.Identify([]byte(object)).Meta(); got != whole {
		t.Errorf("got %+v", got)
	}
	seen := 0
	for at := range len(object) {
		got := Encoding.Identify([]byte(object[:at])).Meta()
		if got.UID != "" && got.UID != "u" || got.ResourceVersion != "" && got.ResourceVersion != "5" {
			t.Errorf("cut after %d bytes: %+v", at, got)
		}
		if got == whole {
			seen++
		}
	}
	if seen < 10 {
		t.Errorf("all of it was seen in %d of %d beginnings", seen, len(object))
	}
}

// FuzzUnstructured decodes JSON, encodes the result in CBOR, and must get the value back
// that a server's JSON has.
func FuzzUnstructured(f *testing.F) {
	f.Add(objectJSON)
	f.Add(`{"kind":"X","metadata":{"name":"a"},"a":[1,-7,1.5,1e300,9223372036854775807,null,{"b":[]},"","é\u0000",true,false]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var want unstructured.Unstructured
		if want.UnmarshalJSON([]byte(text)) != nil {
			return
		}
		data, err := direct.Marshal(want.Object)
		if err != nil {
			return
		}
		unmarshal, err := Encoding.Unmarshaler(reflect.TypeFor[*unstructured.Unstructured](), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got *unstructured.Unstructured
		if err := unmarshal(data, &got); err != nil {
			var reference map[string]any
			if direct.Unmarshal(data, &reference) == nil {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		served, err := want.MarshalJSON() // where 1.0 is 1
		if err == nil {
			err = want.UnmarshalJSON(served)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Fatalf("%s differs (-JSON +CBOR):\n%s", text, diff)
		}
	})
}

// FuzzBytes passes any bytes to every method. None may panic.
func FuzzBytes(f *testing.F) {
	f.Add([]byte(marshal(f, map[string]any{"type": "ADDED", "object": map[string]any{"metadata": map[string]any{"name": "a"}}})))
	f.Add([]byte("\xbf\x65items\x9f\xbf\x68metadata\xa1\x64name\x61a\xff\xff\xff"))
	f.Add([]byte("\xa0\x00"))
	f.Add([]byte("\xa1\x61x" + strings.Repeat("\x81", 2*keepLevels) + "\x80"))
	unmarshal, err := Encoding.Unmarshaler(reflect.TypeFor[*configMap](), format.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if word, object, err := Encoding.SplitEvent(data, false); err == nil && (word == "" || len(object) == 0) {
			t.Errorf("%x: an event of %q and %x", data, word, object)
		}
		if id := Encoding.Identify(data); len(id.Name) > len(data) {
			t.Errorf("%x: %+v", data, id)
		}
		Encoding.Kind(data, false)
		_, _, _ = Encoding.Bookmark(data)
		_, _ = Encoding.Status(data)
		_ = unmarshal(data, new(*configMap))
		list := format.NewList(func() error { return nil }, func(item []byte) error {
			if !jsontext.Value(item).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
				t.Errorf("%x: an item is %q", data, item)
			}
			return nil
		})
		_ = Encoding.ReadList(bytes.NewReader(data), list)
	})
}
