package listwatch

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

// readProtobufList reads a body as the answer to a list.
func readProtobufList(t testing.TB, body io.Reader) (*source.Page[*protoMap], error) {
	t.Helper()
	d, err := newDecoder[*protoMap](nil, nil, false, Protobuf, JSON)
	must.OK(t, err)
	return decodePage(&transport.Response{Body: io.NopCloser(body), MediaType: Protobuf.MediaType()}, d, pageOptions[*protoMap]{})
}

func TestProtobufListBodies(t *testing.T) {
	const large = "\x12\xff\xff\xff\x7f" // an item of 256 MiB
	a := protoObject("a", "5", "v")
	list := func(raw string) string { return enveloped("ConfigMapList", raw) }
	for name, test := range map[string]struct {
		body  string
		items int
		err   string // "" is no error
	}{
		"empty":                      {protoList("7"), 0, ""},
		"without metadata":           {list(""), 0, ""},
		"two items":                  {protoList("7", a, protoObject("b", "6", "w")), 2, ""},
		"the kind comes last":        {join([]byte("k8s\x00"), pb(2, pb(2, a)), pb(1, pb(2, "ConfigMapList"))), 1, ""},
		"no kind":                    {join([]byte("k8s\x00"), pb(2, pb(2, a))), 1, ""},
		"unknown fields":             {list(join(pb(9, "x"), []byte("\x38\x01\x41abcdefgh\x4dabcd"), pb(2, a))), 1, ""},
		"metadata last":              {list(join(pb(2, a), pb(1, pb(2, "7")))), 1, ""},
		"content type named":         {join([]byte("k8s\x00"), pb(2, pb(2, a)), pb(4, Protobuf.MediaType()), pb(1, pb(2, "ConfigMapList"))), 1, ""},
		"other content":              {join([]byte("k8s\x00"), pb(2, ""), pb(4, "application/json"), pb(1, pb(2, "ConfigMapList"))), 0, `the content of the envelope is "application/json"`},
		"compressed content":         {join([]byte("k8s\x00"), pb(1, pb(2, "ConfigMapList")), pb(3, "gzip"), pb(2, "")), 0, `the content of the envelope is "gzip"`},
		"JSON":                       {`{"kind":"ConfigMapList","items":[]}`, 0, "not as protobuf of Kubernetes does"},
		"a watch":                    {protoEvent("ADDED", enveloped("ConfigMap", a)), 0, "not as protobuf of Kubernetes does"},
		"an object":                  {enveloped("ConfigMap", a), 0, `it is of kind "ConfigMap" instead of a list`},
		"a status":                   {enveloped("Status", join(pb(1, ""), pb(2, "Success"))), 0, `it is of kind "Status" instead of a list`},
		"metadata alone, not wanted": {enveloped("PartialObjectMetadataList", ""), 0, "a PartialObjectMetadataList instead of a list of whole objects"},
		"two lists":                  {protoList("7") + protoList("8")[4:], 0, "a second list follows"},
		"bytes behind":               {protoList("7") + "\x00", 0, "field number 0"},
		"a group":                    {list("\x13\x14"), 0, "wire type 3"},
		"a varint of 11 bytes":       {list("\x12" + strings.Repeat("\xff", 10) + "\x01"), 0, "longer than 64 bits"},
		"a list of 2^63 bytes":       {"k8s\x00\x12" + strings.Repeat("\xff", 8) + "\x7f", 0, "ends inside a field"},
		"an object of 256 MiB":       {list(large), 0, format.ErrObjectTooLarge.Error()},
		"an item longer than the list": {
			join([]byte("k8s\x00"), []byte("\x12\x03\x12\x05abcde")), 0, "an item is longer than the list",
		},
		"metadata longer than the list": {
			join([]byte("k8s\x00"), []byte("\x12\x03\x0a\x05\x12\x03abc")), 0, "a part of the list is longer than the list",
		},
		"metadata that is none": {list(join(pb(1, "\x12\x05a"))), 0, "ends inside a field"},
		"nothing":               {"", 0, "unexpected EOF"},
		"no list":               {"k8s\x00", 0, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := readProtobufList(t, strings.NewReader(test.body))
			if test.err == "" {
				if err != nil || len(page.Items) != test.items || len(page.Errors) > 0 {
					t.Fatalf("got %+v, %v, want %d items", page, err, test.items)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error is %v, want %q", err, test.err)
			}
			if cut := strings.Contains(test.err, "EOF"); isMalformed(err) == cut || errors.Is(err, io.ErrUnexpectedEOF) != cut {
				t.Errorf("%v: malformed %v, cut %v", err, isMalformed(err), errors.Is(err, io.ErrUnexpectedEOF))
			}
		})
	}
}

// TestProtobufListCutAnywhere cuts a list after each byte. The reader must return an
// error, unless only the empty fields at the end are missing.
func TestProtobufListCutAnywhere(t *testing.T) {
	body := captureBytes(t, "list-protobuf.bin")
	whole, err := readProtobufList(t, strings.NewReader(body))
	must.OK(t, err)
	for at := range len(body) {
		page, err := readProtobufList(t, strings.NewReader(body[:at]))
		if at == len(body)-4 || at == len(body)-2 {
			// Behind the list are two empty fields. The list is whole without them.
			if err != nil || len(page.Items) != len(whole.Items) {
				t.Errorf("cut after %d of %d bytes: %v", at, len(body), err)
			}
			continue
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || isMalformed(err) {
			t.Fatalf("cut after %d of %d bytes: %v, want unexpected EOF", at, len(body), err)
		}
	}
}

// TestProtobufItemsPinNothing shows that the objects of a list do not point into the
// body.
func TestProtobufItemsPinNothing(t *testing.T) {
	object := protoObject("a", "5", "v")
	body := []byte(protoList("7", object, protoObject("b", "5", strings.Repeat("x", 100_000))))
	page, err := readProtobufList(t, &overwriting{data: body})
	must.OK(t, err)
	if got := page.Items[0]; got.Name != "a" || got.Data["k"] != "v" || got.UID != "u-a" {
		t.Errorf("the object changed with the buffer it was read from: %+v", got)
	}
}

// overwriting is a reader that overwrites the whole buffer that it is given before
// it delivers bytes.
type overwriting struct{ data []byte }

func (o *overwriting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '!'
	}
	if len(o.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.data)
	o.data = o.data[n:]
	return n, nil
}

func TestProtobufListOfMetadata(t *testing.T) {
	raw := pb(2, pb(1, join(pb(1, "a"), pb(3, "n"))))
	body := join([]byte("k8s\x00"), pb(1, join(pb(1, "meta.k8s.io/v1"), pb(2, "PartialObjectMetadataList"))), pb(2, raw))
	client := serve(t, protoBody(body))
	page, err := mustNew(t, client, Options[*metav1.PartialObjectMetadata]{Encoding: Auto}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("got %+v, %v", page, err)
	}
	want := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n"},
	}
	if diff := cmp.Diff(want, page.Items[0]); diff != "" {
		t.Errorf("item differs (-want +got):\n%s", diff)
	}
}

// FuzzProtobufPage feeds bodies to the list reader. A body that the reader accepts
// must be a complete list, and the result must not depend on how the body is split.
func FuzzProtobufPage(f *testing.F) {
	f.Add([]byte(captureBytes(f, "list-protobuf.bin")))
	f.Add([]byte(protoList("7", protoObject("a", "5", "v"), "")))
	f.Add([]byte(enveloped("Status", "")))
	f.Fuzz(func(t *testing.T, data []byte) {
		page, err := readProtobufList(t, strings.NewReader(string(data)))
		if (page == nil) == (err == nil) {
			t.Fatalf("page %v with error %v", page, err)
		}
		again, errAgain := readProtobufList(t, &overwriting{data: data})
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("%x: %v, and then %v", data, err, errAgain)
		}
		if err != nil {
			return
		}
		for i, item := range page.Items {
			if item == nil || item.Name == "" {
				t.Fatalf("%x has the item %+v", data, item)
			}
			if diff := cmp.Diff(item, again.Items[i]); diff != "" {
				t.Fatalf("%x gives two items (-first +second):\n%s", data, diff)
			}
		}
	})
}
