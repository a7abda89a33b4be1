package listwatch

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// listThenWatch lists once if list is not empty, then reads the stream. It returns a
// line for each object that says what became of it.
func listThenWatch[T object.Object](t *testing.T, config transport.Config, list, stream string, opts metav1.ListOptions) (lines []string) {
	t.Helper()
	r := mustNew(t, serveWith(t, config, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("watch") == "" {
			body(list)(w, req)
			return
		}
		body(stream)(w, req)
	}), Options[T]{})
	if list != "" {
		page, err := r.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return []string{err.Error()}
		}
		for _, obj := range page.Items {
			lines = append(lines, "item "+obj.GetName())
		}
		for _, bad := range page.Errors {
			lines = append(lines, "bad item "+bad.Meta.Key)
		}
	}
	w, err := r.Watch(t.Context(), opts)
	must.OK(t, err)
	defer w.Close()
	for {
		event, err := w.Next()
		if err != nil {
			return lines
		}
		line := fmt.Sprint(event.Type, " ", event.Meta.Key)
		if event.Err != nil {
			line = "bad " + line
		}
		lines = append(lines, line)
	}
}

func TestObjectOfAnotherKindIsAnObjectError(t *testing.T) {
	const (
		typed   = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[%s]}`
		custom  = `{"apiVersion":"g/v1","items":[%s],"kind":"%s","metadata":{}}`
		named   = `{"kind":"%s","apiVersion":"v1","metadata":{},"items":[%s]}`
		plain   = `{"metadata":{"name":"p"}}`
		initial = "with initial events"
	)
	object := func(kind, name string) string {
		return `{"kind":"` + kind + `","apiVersion":"v1","metadata":{"name":"` + name + `"}}`
	}
	sorted := func(kind, name string) string { // as custom resources come
		return `{"apiVersion":"g/v1","data":{"kind":"X"},"kind":"` + kind + `","metadata":{"name":"` + name + `"}}`
	}
	last := func(kind, name string) string {
		return `{"metadata":{"name":"` + name + `"},"kind":"` + kind + `"}`
	}
	event := func(typ, object string) string { return `{"type":"` + typ + `","object":` + object + `}` + "\n" }
	for name, test := range map[string]struct {
		list, stream string
		want         string
	}{
		"after a list": {
			fmt.Sprintf(typed, plain),
			event("ADDED", object("ConfigMap", "a")) + event("ADDED", object("Secret", "a")) + event("MODIFIED", object("ConfigMap", "b")),
			"item p, ADDED a, bad MODIFIED a, MODIFIED b",
		},
		"the first event, after a list":   {fmt.Sprintf(typed, ""), event("ADDED", object("Secret", "a")), "bad MODIFIED a"},
		"a deletion deletes nothing else": {fmt.Sprintf(typed, ""), event("DELETED", object("Secret", "a")), "bad MODIFIED a"},
		"metadata alone":                  {fmt.Sprintf(typed, ""), event("ADDED", object("PartialObjectMetadata", "a")), "bad MODIFIED a"},
		"no list":                         {"", event("ADDED", object("ConfigMap", "a")) + event("ADDED", object("Secret", "b")), "ADDED a, bad MODIFIED b"},
		"no list, metadata alone":         {"", event("ADDED", object("PartialObjectMetadata", "a")), "bad MODIFIED a"},
		"members in order of their names": {
			"", event("ADDED", sorted("Foo", "a")) + event("ADDED", sorted("Foo", "b")) + event("ADDED", sorted("Bar", "c")),
			"ADDED a, ADDED b, bad MODIFIED c",
		},
		"the kind comes last": {fmt.Sprintf(typed, ""), event("ADDED", last("ConfigMap", "a")) + event("ADDED", last("Secret", "b")), "ADDED a, bad MODIFIED b"},
		"no kind":             {fmt.Sprintf(typed, plain), event("ADDED", plain), "item p, ADDED p"},
		"an item of a list":   {fmt.Sprintf(typed, object("Secret", "s")+","+object("ConfigMap", "c")+","+plain), "", "item c, item p, bad item s"},
		"items tell the kind": {fmt.Sprintf(custom, sorted("Foo", "a")+","+sorted("Bar", "b"), "FooList"), event("ADDED", sorted("Bar", "c")), "item a, bad item b, bad MODIFIED c"},
		"a list of another name": {
			fmt.Sprintf(custom, sorted("Foo", "a"), "ManyFoosList"), event("ADDED", sorted("Foo", "b")), "item a, ADDED b",
		},
		"an empty list of another name": {fmt.Sprintf(custom, "", "ManyFoosList"), event("ADDED", sorted("Foo", "b")), "ADDED b"},
		"a list of another name, which comes first": {
			fmt.Sprintf(named, "ManyFoosList", sorted("Foo", "a")+","+sorted("Foo", "b")), event("ADDED", sorted("Foo", "c")) + event("ADDED", sorted("Bar", "d")),
			"item a, item b, ADDED c, bad MODIFIED d",
		},
		"one item, and a list of another name": {fmt.Sprintf(named, "ManyFoosList", sorted("Foo", "a")), event("ADDED", sorted("Foo", "c")), "item a, ADDED c"},
		"two items of two kinds, and a list of another name": {
			fmt.Sprintf(named, "ManyFoosList", sorted("Foo", "a")+","+sorted("Bar", "b")), event("ADDED", sorted("Foo", "c")), "item a, bad item b, ADDED c",
		},
		"one item of a kind and two of another, and a list of another name": {
			fmt.Sprintf(named, "ManyFoosList", sorted("Bar", "a")+","+sorted("Foo", "b")+","+sorted("Foo", "c")), event("ADDED", sorted("Foo", "d")),
			"item b, item c, bad item a, ADDED d",
		},
		"one event with more members": {
			fmt.Sprintf(typed, ""), `{"type":"ADDED","object":` + object("Secret", "a") + `,"more":{}}` + event("ADDED", object("ConfigMap", "b")), "bad MODIFIED a, ADDED b",
		},
		"one item of another kind than those without": {
			fmt.Sprintf(named, "ManyFoosList", object("Secret", "s")+","+plain), event("ADDED", object("Secret", "s")), "item p, bad item s, bad MODIFIED s",
		},
		"no item, and a list of another name, which comes first": {
			fmt.Sprintf(named, "ManyFoosList", ""), event("ADDED", sorted("Foo", "a")) + event("ADDED", sorted("Foo", "b")) + event("ADDED", sorted("Bar", "c")),
			"bad MODIFIED a, ADDED b, bad MODIFIED c",
		},
		"an object that cannot be read tells no kind": {
			"", event("ADDED", `{"kind":"Foo","metadata":{"name":7}}`) + event("ADDED", object("ConfigMap", "a")), "bad ADDED , ADDED a",
		},
		"a List": {
			`{"kind":"List","metadata":{},"items":[` + plain + `]}`, event("ADDED", object("ConfigMap", "a")), "item p, ADDED a",
		},
		"initial events tell it again": {
			fmt.Sprintf(typed, plain), initial + event("ADDED", object("Foo", "a")) + event("ADDED", object("ConfigMap", "b")),
			"item p, ADDED a, bad MODIFIED b",
		},
		"a list of metadata alone": {
			`{"kind":"PartialObjectMetadataList","metadata":{},"items":[]}`, "",
			"list configmaps: read the list: malformed answer: a PartialObjectMetadataList instead of a list of whole objects",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var opts metav1.ListOptions
			stream, found := strings.CutPrefix(test.stream, initial)
			opts.SendInitialEvents = &found
			got := listThenWatch[*configMap](t, transport.Config{}, test.list, stream, opts)
			if want := strings.Split(test.want, ", "); !cmp.Equal(want, got) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if strings.HasPrefix(test.want, "list ") {
				return
			}
			unstruct := listThenWatch[*unstructured.Unstructured](t, transport.Config{}, test.list, stream, opts)
			if !cmp.Equal(got, unstruct) {
				t.Errorf("unstructured gives %q, a struct %q", unstruct, got)
			}
		})
	}
}

// The pages of a list are of one kind: an object of another kind that begins a later page is bad,
// and not those behind it.
func TestLaterPagesHaveTheKindOfTheFirst(t *testing.T) {
	const (
		foo = `{"kind":"Foo","metadata":{"name":"f"}}`
		bar = `{"kind":"Bar","metadata":{"name":"b"}}`
	)
	for name, list := range map[string]string{
		"the kind comes first": `{"kind":"ManyFoosList","metadata":{},"items":[%s]}`,
		"the kind comes last":  `{"items":[%s],"kind":"ManyFoosList","metadata":{}}`,
	} {
		for items, want := range map[string]string{bar + "," + foo: "1 good, 1 bad", bar: "0 good, 1 bad", "": "0 good, 0 bad", foo: "1 good, 0 bad"} {
			r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
				switch q := req.URL.Query(); {
				case q.Has("watch"):
					body(`{"type":"ADDED","object":`+foo+`}`)(w, req)
				case q.Has("continue"):
					body(fmt.Sprintf(list, items))(w, req)
				default:
					body(fmt.Sprintf(list, foo+","+foo))(w, req)
				}
			}), Options[*configMap]{})
			var page *source.Page[*configMap]
			for _, token := range []string{"", "next"} {
				var err error
				if page, err = r.List(t.Context(), metav1.ListOptions{Continue: token}); err != nil {
					t.Fatal(err)
				}
			}
			if got := fmt.Sprintf("%d good, %d bad", len(page.Items), len(page.Errors)); got != want {
				t.Errorf("%s: page 2 of %s has %s, want %s", name, items, got, want)
			}
			w, err := r.Watch(t.Context(), metav1.ListOptions{})
			must.OK(t, err)
			if event, err := w.Next(); err != nil || event.Err != nil {
				t.Errorf("%s: after page 2 of %s, the watch says %v, %v", name, items, event.Err, err)
			}
			w.Close()
		}
	}
}

// A list of one object is often empty, because the object is gone. It says nothing new about the
// kind.
func TestListOfOneObjectDoesNotForgetTheKind(t *testing.T) {
	const order = `{"kind":"Order","metadata":{"name":"a"}}`
	r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
		switch q := req.URL.Query(); {
		case q.Has("watch"):
			body(`{"type":"ADDED","object":`+order+`}`)(w, req)
		case q.Has("fieldSelector"):
			body(`{"kind":"ShopList","metadata":{},"items":[]}`)(w, req)
		default:
			body(`{"kind":"ShopList","metadata":{},"items":[`+order+`]}`)(w, req)
		}
	}), Options[*configMap]{})
	for _, selector := range []string{"", "metadata.name=b"} {
		if _, err := r.List(t.Context(), metav1.ListOptions{FieldSelector: selector}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := r.Watch(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	defer w.Close()
	if event, err := w.Next(); err != nil || event.Err != nil {
		t.Errorf("the watch says %v, %v", event.Err, err)
	}
}

// Items without a kind get that of their list on each page, also if it comes after them.
func TestItemsOfEachPageGetTheirKind(t *testing.T) {
	r := mustNew(t, serve(t, body(`{"items":[{"metadata":{"name":"f"}}],"kind":"FooList","apiVersion":"g/v1","metadata":{}}`)), Options[*unstructured.Unstructured]{})
	for _, token := range []string{"", "next"} {
		page, err := r.List(t.Context(), metav1.ListOptions{Continue: token})
		if err != nil || len(page.Items) != 1 {
			t.Fatal(page, err)
		}
		if kind := page.Items[0].GetKind(); kind != "Foo" {
			t.Errorf("the item of the page at %q has the kind %q", token, kind)
		}
	}
}

// Items of several kinds that all contradict the name of their list are not kept until its end.
func TestItemsDoNotWaitForAKindWithoutEnd(t *testing.T) {
	var items []string
	for i := range 4 * partObjects {
		items = append(items, fmt.Sprintf(`{"kind":"%s","metadata":{"name":"o%d"},"data":{"k":"%01000d"}}`, []string{"Foo", "Bar"}[i%2], i, 0))
	}
	text := strings.NewReader(`{"kind":"MixedList","metadata":{},"items":[` + strings.Join(items, ",") + `]}`)
	var parts []string
	_, err := decodePage(&transport.Response{Body: io.NopCloser(text), MediaType: JSON.MediaType()}, mustNew(t, serve(t, body("")), Options[*configMap]{}).decoder,
		pageOptions[*configMap]{part: func(p source.Part[*configMap]) error {
			parts = append(parts, fmt.Sprintf("%d+%d, more=%v", len(p.Items), len(p.Errors), text.Len() > 0))
			return nil
		}})
	if want := fmt.Sprintf("%d+%d, more=true", partObjects/2, partObjects/2); err != nil || len(parts) < 4 || parts[0] != want {
		t.Errorf("the parts are %q, want the first one to be %q: %v", parts, want, err)
	}
}

// TestMetadataIsTakenFromWholeObjects has servers that do not know
// PartialObjectMetadata, beside others that do.
func TestMetadataIsTakenFromWholeObjects(t *testing.T) {
	for _, list := range []string{"ConfigMapList", "PartialObjectMetadataList"} {
		got := listThenWatch[*metav1.PartialObjectMetadata](t, transport.Config{},
			`{"kind":"`+list+`","metadata":{},"items":[{"metadata":{"name":"p"}}]}`,
			`{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"a"}}}{"type":"ADDED","object":{"kind":"PartialObjectMetadata","metadata":{"name":"b"}}}`,
			metav1.ListOptions{})
		if want := []string{"item p", "ADDED a", "ADDED b"}; !cmp.Equal(want, got) {
			t.Errorf("after a %s: got %q, want %q", list, got, want)
		}
	}
}

func TestLargeObjectOfAnotherKindDeletesNothing(t *testing.T) {
	stream := `{"type":"DELETED","object":{"kind":"Secret","metadata":{"name":"a"},"data":{"k":"` + strings.Repeat("x", 2000) + `"}}}`
	got := listThenWatch[*configMap](t, transport.Config{MaxFrameBytes: 1000}, `{"kind":"ConfigMapList","metadata":{},"items":[]}`, stream, metav1.ListOptions{})
	if want := []string{"bad MODIFIED a"}; !cmp.Equal(want, got) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGetOfAnotherKindIsAnObjectError(t *testing.T) {
	r := mustNew(t, serve(t, func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/configmaps") {
			body(`{"kind":"ConfigMapList","metadata":{},"items":[{"kind":"ConfigMap","metadata":{"name":"b"}}]}`)(w, req)
			return
		}
		body(`{"kind":"Secret","metadata":{"name":"a"}}`)(w, req)
	}), Options[*configMap]{})
	if _, err := r.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	_, meta, err := r.Get(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "it is of kind Secret, but the objects of this resource are of kind ConfigMap") || meta.Key != "a" {
		t.Errorf("got %+v, %v", meta, err)
	}
}
