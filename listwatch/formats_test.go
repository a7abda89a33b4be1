package listwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// sample is a ConfigMap in namespace n, with one entry of data.
type sample struct {
	kind, name, version, value string
	bad                        bool // its data cannot be decoded
}

// wireFormat writes in one format what a server sends.
type wireFormat struct {
	Encoding
	item    func(sample) string          // as it stands in a list
	garbage []string                     // items that are no objects
	list    func(items ...string) string // at version 9
	event   func(typ string, s sample) string
	alone   func(sample) string // the answer to a Get
	status  func(metav1.Status) string
}

// inEachFormat calls run for each format.
func inEachFormat(t *testing.T, run func(t *testing.T, f wireFormat)) {
	item := func(s sample) string {
		data := `{"k":"` + s.value + `"}`
		if s.bad {
			data = "7"
		}
		return fmt.Sprintf(`{"kind":%q,"metadata":{"name":%q,"namespace":"n","uid":"u-%s","resourceVersion":%q},"data":%s}`, s.kind, s.name, s.name, s.version, data)
	}
	list := func(items ...string) string {
		return `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[` + strings.Join(items, ",") + `]}`
	}
	event := func(typ string, s sample) string { return `{"type":"` + typ + `","object":` + item(s) + `}` }
	status := func(s metav1.Status) string {
		text, err := json.Marshal(s)
		must.OK(t, err)
		return string(text)
	}
	message := func(s sample) string {
		object := protoObject(s.name, s.version, s.value)
		if s.bad {
			object += "\x12\x7fabc"
		}
		return object
	}
	for name, f := range map[string]wireFormat{
		"JSON": {JSON, item, []string{`null`, `[1,2]`}, list, event, item, status},
		"protobuf": {
			Protobuf, message,
			[]string{"", "\xff"},
			func(items ...string) string { return protoList("9", items...) },
			func(typ string, s sample) string { return protoEvent(typ, enveloped(s.kind, message(s))) },
			func(s sample) string { return enveloped(s.kind, message(s)) },
			func(s metav1.Status) string { return protoStatus(t, s) },
		},
	} {
		t.Run(name, func(t *testing.T) { run(t, f) })
	}
}

// server answers a list or a Get with a body, and a watch with a stream.
func (f wireFormat) server(t *testing.T, config transport.Config, body, stream string) *transport.Client {
	t.Helper()
	return serveWith(t, config, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("watch") != "" {
			answerAs(f.StreamMediaType(), stream)(w, req)
			return
		}
		answerAs(f.MediaType(), body)(w, req)
	})
}

// serve returns a Client of that server.
func (f wireFormat) serve(t *testing.T, config transport.Config, body, stream string) *Client[*protoMap] {
	t.Helper()
	return mustNew(t, f.server(t, config, body, stream), Options[*protoMap]{Encoding: f.Encoding})
}

// An item that cannot be used is an error of its own, with what can be read of it.
func TestListPutsBadItemsAside(t *testing.T) {
	inEachFormat(t, func(t *testing.T, f wireFormat) {
		items := []string{
			f.item(sample{name: "a", version: "5"}), f.item(sample{name: "b", version: "6", bad: true}), f.item(sample{version: "7"}),
			f.garbage[0], f.garbage[1], f.item(sample{name: "c", version: "8", value: "v"}),
		}
		page, err := f.serve(t, transport.Config{}, f.list(items...), "").List(t.Context(), metav1.ListOptions{})
		must.OK(t, err)
		if len(page.Items) != 2 || page.Items[0].Name != "a" || page.Items[1].Data["k"] != "v" || page.ResourceVersion != "9" {
			t.Errorf("page is %+v", page)
		}
		var got []object.Meta
		for _, bad := range page.Errors {
			got = append(got, bad.Meta)
			if errors.Is(bad, io.ErrUnexpectedEOF) {
				t.Errorf("%v looks like a connection that was cut", bad)
			}
		}
		if diff := cmp.Diff([]object.Meta{{Key: "n/b", UID: "u-b", ResourceVersion: "6"}, {UID: "u-", ResourceVersion: "7"}, {}, {}}, got); diff != "" {
			t.Errorf("bad items differ (-want +got):\n%s", diff)
		}
	})
}

// An item that the caller has is identified without decoding it.
func TestKnownItemsInEachFormat(t *testing.T) {
	inEachFormat(t, func(t *testing.T, f wireFormat) {
		list := f.list(f.item(sample{name: "a", version: "5", bad: true}), f.item(sample{name: "b", version: "6", value: "v"}))
		held := &protoMap{}
		known := func(key string) (*protoMap, object.Meta, bool) {
			return held, object.Meta{Key: key, UID: "u-a", ResourceVersion: "5"}, key == "n/a"
		}
		var items []*protoMap
		_, err := source.EachKnown(t.Context(), f.serve(t, transport.Config{}, list, ""), metav1.ListOptions{}, known, func(p source.Part[*protoMap]) error {
			items = append(items, p.Items...)
			return nil
		})
		if err != nil || len(items) != 2 || items[0] != held || items[1].Data["k"] != "v" {
			t.Errorf("got %v, %v", items, err)
		}
	})
}

// A frame that is too large is one lost object, and so is an object of another kind, whatever the
// event says that has become of it.
func TestLostObjectsInEachFormat(t *testing.T) {
	inEachFormat(t, func(t *testing.T, f wireFormat) {
		large := strings.Repeat("x", 20_000)
		stream := f.event("DELETED", sample{kind: "ConfigMap", name: "large", version: "4", value: large}) +
			f.event("BOOKMARK", sample{kind: "ConfigMap", version: "4", value: large}) +
			f.event("ADDED", sample{kind: "ConfigMap", name: "a", version: "5"}) +
			f.event("DELETED", sample{kind: "Secret", name: "a", version: "6"}) +
			f.event("MODIFIED", sample{kind: "ConfigMap", name: "b", version: "7", bad: true})
		events, err := readAll(t, f.serve(t, transport.Config{MaxFrameBytes: 1000}, "", stream))
		want := []string{"DELETED n/large@4 (bad)", "MODIFIED @ (bad)", "ADDED n/a@5", "MODIFIED n/a@6 (bad)", "MODIFIED n/b@7 (bad)"}
		if diff := cmp.Diff(want, events); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestGetInEachFormat(t *testing.T) {
	inEachFormat(t, func(t *testing.T, f wireFormat) {
		r := f.serve(t, transport.Config{}, f.alone(sample{kind: "ConfigMap", name: "a", version: "5", value: "v"}), "")
		obj, meta, err := r.Get(t.Context(), "n/a")
		if err != nil || obj.Data["k"] != "v" || obj.Kind != "" || meta != (object.Meta{Key: "n/a", UID: "u-a", ResourceVersion: "5"}) {
			t.Errorf("got %+v, %+v, %v", obj, meta, err)
		}
	})
}

// A server refuses a request in the format that was asked for, or in JSON.
func TestErrorsOfRequestsInEachFormat(t *testing.T) {
	expired := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status"}, Status: "Failure", Code: 410, Reason: "Expired", Message: "too old"}
	inEachFormat(t, func(t *testing.T, f wireFormat) {
		text, err := json.Marshal(expired)
		must.OK(t, err)
		for _, body := range []string{f.status(expired), string(text)} {
			client := serve(t, func(w http.ResponseWriter, req *http.Request) {
				if accept := req.Header.Get("Accept"); !strings.HasPrefix(accept, f.MediaType()) || !strings.HasSuffix(accept, JSON.MediaType()) {
					t.Errorf("Accept is %q", accept)
				}
				refuseWith(f.MediaType(), http.StatusGone, body)(w, req)
			})
			_, err := mustNew(t, client, Options[*protoMap]{Encoding: f.Encoding}).List(t.Context(), metav1.ListOptions{})
			if !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), "too old") {
				t.Errorf("%q: %v", body, err)
			}
		}
	})
}
