package listwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/internal/protowire"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// protoMap is a ConfigMap as code for protobuf would be generated for it.
type protoMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

func (m *protoMap) Unmarshal(message []byte) error {
	return protowire.Each(message, func(f protowire.Field) error {
		switch f.Number {
		case 1:
			return m.ObjectMeta.Unmarshal(f.Bytes)
		case 2:
			var key, value string
			if m.Data == nil {
				m.Data = make(map[string]string)
			}
			err := protowire.Each(f.Bytes, func(f protowire.Field) error {
				switch f.Number {
				case 1:
					key = string(f.Bytes)
				case 2:
					value = string(f.Bytes)
				}
				return nil
			})
			m.Data[key] = value
			return err
		}
		return nil
	})
}

// pb writes a field of bytes.
func pb[B string | []byte](number int, value B) []byte {
	b := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

func join(parts ...[]byte) string {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return string(all)
}

// protoObject is a ConfigMap without an envelope, with one entry of data.
func protoObject(name, version, value string) string {
	meta := join(pb(1, name), pb(3, "n"), pb(5, "u-"+name), pb(6, version))
	return join(pb(1, meta), pb(2, join(pb(1, "k"), pb(2, value))))
}

func enveloped(kind, raw string) string {
	return join([]byte("k8s\x00"), pb(1, join(pb(1, "v1"), pb(2, kind))), pb(2, raw), pb(3, ""), pb(4, ""))
}

func protoList(version string, objects ...string) string {
	raw := pb(1, join(pb(2, version)))
	for _, o := range objects {
		raw = append(raw, pb(2, o)...)
	}
	return enveloped("ConfigMapList", string(raw))
}

func protoEvent(typ, object string) string {
	event := join(pb(1, typ), pb(2, pb(1, object)))
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(event)))) + event
}

// answerAs answers every request with one body of a media type.
func answerAs(mediaType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, text)
	}
}

func refuseWith(mediaType string, code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

func protoBody(text string) http.HandlerFunc { return answerAs(Protobuf.MediaType(), text) }

func captureBytes(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("../testdata/captures/" + name)
	must.OK(t, err)
	return string(data)
}

func TestProtobufListOfARealServer(t *testing.T) {
	client := serve(t, protoBody(captureBytes(t, "list-protobuf.bin")))
	r := mustNew(t, client, Options[*protoMap]{Encoding: Auto})
	page, err := r.List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	kind := r.expected().kind
	var got []string
	for _, item := range page.Items {
		got = append(got, fmt.Sprint(item.Namespace, "/", item.Name, "@", item.ResourceVersion, " v=", item.Data["v"], item.Kind))
	}
	want := []string{"trace/a@40498 v=3", "trace/b@40515 v=3", "trace/c@40473 v=1", "trace/d@40474 v=1", "trace/f@40527 v=1"}
	if diff := cmp.Diff(want, got); diff != "" || page.ResourceVersion != "40929" || kind != "ConfigMap" {
		t.Errorf("list of %s at %s differs (-want +got):\n%s", kind, page.ResourceVersion, diff)
	}
	partial, err := mustNew(t, client, Options[*metav1.PartialObjectMetadata]{Encoding: Auto}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(partial.Items) != 5 {
		t.Fatalf("as metadata: %+v, %v", partial, err)
	}
	for i, item := range partial.Items {
		if !reflect.DeepEqual(item.ObjectMeta, page.Items[i].ObjectMeta) || item.Kind != "ConfigMap" {
			t.Errorf("as metadata %+v, whole %+v", item, page.Items[i])
		}
	}
}

func TestProtobufWatchOfARealServer(t *testing.T) {
	client := serve(t, protoBody(captureBytes(t, "watch-protobuf.bin")))
	events, err := readAll(t, mustNew(t, client, Options[*protoMap]{Encoding: Auto}))
	want := []string{"ADDED trace/a@40498", "ADDED trace/b@40515", "ADDED trace/c@40473", "ADDED trace/d@40474", "ADDED trace/f@40527", "BOOKMARK @40945 (end of initial events)"}
	if !cmp.Equal(want, events) || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v", events, err)
	}
	partial, err := readAll(t, mustNew(t, client, Options[*metav1.PartialObjectMetadata]{Encoding: Auto}))
	if !cmp.Equal(events, partial) || !errors.Is(err, io.EOF) {
		t.Errorf("as metadata %q, %v", partial, err)
	}
}

// TestProtobufAndJSONGiveTheSame asks one server for the same objects in both
// encodings.
func TestProtobufAndJSONGiveTheSame(t *testing.T) {
	inProtobuf, err := mustNew(t, serve(t, protoBody(captureBytes(t, "list-protobuf.bin"))), Options[*protoMap]{Encoding: Auto}).List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	inJSON, err := mustNew(t, serve(t, replay(t, "list-rv0.http")), Options[*protoMap]{Encoding: Auto}).List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	same := 0
	for _, a := range inProtobuf.Items {
		for _, b := range inJSON.Items {
			if a.UID != b.UID || a.ResourceVersion != b.ResourceVersion {
				continue
			}
			same++
			if diff := cmp.Diff(b, a); diff != "" {
				t.Errorf("%s differs (-JSON +protobuf):\n%s", a.Name, diff)
			}
		}
	}
	if same < 2 {
		t.Errorf("only %d objects are in both captures", same)
	}
}

// valueMap has its getters on the value.
type valueMap struct{ inner *protoMap }

func (v valueMap) GetNamespace() string       { return v.inner.GetNamespace() }
func (v valueMap) GetName() string            { return v.inner.GetName() }
func (v valueMap) GetUID() types.UID          { return v.inner.GetUID() }
func (v valueMap) GetResourceVersion() string { return v.inner.GetResourceVersion() }

func (v *valueMap) Unmarshal(message []byte) error {
	v.inner = new(protoMap)
	return v.inner.Unmarshal(message)
}

func TestProtobufIntoAStructByValue(t *testing.T) {
	client := serve(t, protoBody(protoList("7", protoObject("a", "5", "v"))))
	page, err := mustNew(t, client, Options[valueMap]{Encoding: Auto}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 1 || page.Items[0].GetName() != "a" {
		t.Errorf("got %+v, %v", page, err)
	}
}

type embedsMetadata struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

type embedsGenerated struct {
	protoMap

	More string `json:"more"`
}

type readsSomethingElse struct{ embedsMetadata }

func (*readsSomethingElse) Unmarshal([]byte) error { return nil }

type panicsOnProtobuf struct{ embedsMetadata }

func (*panicsOnProtobuf) Unmarshal([]byte) error { panic("unforeseen") }

// TestWhatCanBeReadFromProtobuf shows that a method Unmarshal is not enough.
func TestWhatCanBeReadFromProtobuf(t *testing.T) {
	for _, test := range []struct {
		new  func(encoding Encoding) (accept string, err error)
		want string // "" is that it can
	}{
		{acceptOf[*protoMap], ""},
		{acceptOf[valueMap], ""},
		{acceptOf[*configMap], "has no method Unmarshal"}, // of two that are embedded: neither
		{acceptOf[*embedsMetadata], "no method Unmarshal of its own"},
		{acceptOf[*embedsGenerated], "no method Unmarshal of its own"},
		{acceptOf[*unstructured.Unstructured], "has no method Unmarshal"},
		{acceptOf[slimValue], "has no method Unmarshal"},
		{acceptOf[*readsSomethingElse], "finds no metadata.name"},
		{acceptOf[*panicsOnProtobuf], "panicked: unforeseen"},
	} {
		auto, err := test.new(Auto)
		must.OK(t, err)
		want := "application/vnd.kubernetes.protobuf,application/json"
		if test.want != "" {
			want = "application/json"
		}
		if auto != want {
			t.Errorf("%s: asks for %s, want %s", test.want, auto, want)
		}
		asked, err := test.new(Protobuf)
		switch {
		case test.want == "" && (err != nil || asked != want):
			t.Errorf("asks for %s, %v", asked, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("error is %v, want %q", err, test.want)
		}
		for _, encoding := range []Encoding{nil, JSON} {
			if plain, err := test.new(encoding); err != nil || plain != "application/json" {
				t.Errorf("asks for %s, %v, and JSON was wanted", plain, err)
			}
		}
	}
}

func acceptOf[T object.Object](encoding Encoding) (string, error) {
	client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1"})
	if err != nil {
		return "", err
	}
	r, err := New(client, configMaps, Options[T]{Encoding: encoding})
	if err != nil {
		return "", err
	}
	return r.decoder.acceptList(), nil
}

// TestTheContentTypeDecides has a server that answers one request in one encoding and
// the next in another.
func TestTheContentTypeDecides(t *testing.T) {
	n := 0
	r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
		switch n++; n {
		case 1:
			answerAs("application/json;charset=utf-8", `{"kind":"ConfigMapList","items":[{"metadata":{"name":"j"}}]}`)(w, req)
		case 2:
			answerAs(Protobuf.MediaType()+";charset=utf-8", protoList("7", protoObject("p", "5", "v")))(w, req)
		case 3:
			answerAs("application/json", `{"type":"ADDED","object":{"metadata":{"name":"j"}}}`)(w, req)
		case 4:
			answerAs(Protobuf.MediaType()+";stream=watch", protoEvent("ADDED", enveloped("ConfigMap", protoObject("p", "5", "v"))))(w, req)
		default:
			answerAs("application/yaml", "kind: ConfigMapList")(w, req)
		}
	}), Options[*protoMap]{Encoding: Auto})
	for _, want := range []string{"j", "p"} {
		page, err := r.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(page.Items) != 1 || page.Items[0].Name != want {
			t.Errorf("got %+v, %v, want %s", page, err, want)
		}
	}
	for _, want := range []string{"ADDED j@", "ADDED n/p@5"} {
		events, err := readAll(t, r)
		if !cmp.Equal([]string{want}, events) || !errors.Is(err, io.EOF) {
			t.Errorf("got %q, %v, want %q", events, err, want)
		}
	}
	_, err := r.List(t.Context(), metav1.ListOptions{})
	var content *transport.UnexpectedContentError
	if !errors.As(err, &content) {
		t.Errorf("error is %v", err)
	}
}

// TestProtobufIsNotTakenByWhoDidNotAsk has a server that ignores the Accept header.
func TestProtobufIsNotTakenByWhoDidNotAsk(t *testing.T) {
	r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("watch") == "" {
			protoBody(protoList("7"))(w, req)
			return
		}
		protoBody(protoEvent("ADDED", enveloped("ConfigMap", protoObject("p", "5", "v"))))(w, req)
	}), Options[*configMap]{})
	if _, err := r.List(t.Context(), metav1.ListOptions{}); !source.IsMalformed(err) {
		t.Errorf("list: %v", err)
	}
	if w, err := r.Watch(t.Context(), metav1.ListOptions{}); !source.IsMalformed(err) {
		t.Errorf("watch: %v, %v", w, err)
	}
}
