package json

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const objectJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":{"k":"v"}}`

// FuzzStruct compares with apimachinery's decoder. Both must refuse the same bytes and make
// equal objects of all others. The object is decoded a second time, because the decoder then
// uses values that it remembers.
func FuzzStruct(f *testing.F) {
	for _, seed := range []string{
		objectJSON,
		`{"metadata":{"name":"a","creationTimestamp":"2026-11-20T11:18:00Z","deletionTimestamp":"2026-11-20T11:18:00Z","labels":{"a":"b","c":""},"annotations":{"json":"{\"a\":1}","ä":"ö"}}}`,
		`{"metadata":{"creationTimestamp":null,"labels":null,"annotations":{},"managedFields":[{"time":"2026-11-20T11:18:00.5+01:00","fieldsV1":{"f:a":{}}},{"fieldsV1":null},{"fieldsV1":{"f:a":{}}}]}}`,
		`{"metadata":{"labels":{"a":"1","a":"2"},"labels":{"b":"3"}}}`, `{"metadata":{"labels":{"a":1}}}`, `{"metadata":{"labels":[]}}`, `{"metadata":{"labels":{"a":null}}}`,
		`{"metadata":{"creationTimestamp":"yesterday"}}`, `{"metadata":{"creationTimestamp":7}}`, "{\"metadata\":{\"labels\":{\"\xff\":\"\xfe\"}}}",
		`{"metadata":{"labels":{"\u0061":"b"}}}`, "{\"metadata\":{\"labels\":{\"a\":\"\x01\"}}}", `{"metadata":{"managedFields":[{"fieldsV1":[1,}]}}`,
		`{"metadata":{"labels" : { "a" : "b" , "c" : "d" } }}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want metav1.PartialObjectMetadata
		wantErr := utiljson.Unmarshal(data, &want)
		for _, share := range []bool{false, true} {
			unmarshal := newStructs(reflect.TypeFor[metav1.PartialObjectMetadata](), share)
			for range 4 {
				var got metav1.PartialObjectMetadata
				err := unmarshal(data, &got)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("share=%v: error %v, apimachinery's is %v", share, err, wantErr)
				}
				if err == nil && !cmp.Equal(want, got) {
					t.Fatalf("share=%v: (-apimachinery +ours)\n%s", share, cmp.Diff(want, got))
				}
			}
		}
	})
}

func TestKind(t *testing.T) {
	for object, want := range map[string]string{
		objectJSON:                                       "ConfigMap",
		`{"kind":"A"}`:                                   "A",
		`{"kind":"A\u0042"}`:                             "AB",
		"\t{ \"kind\" : \"A\" }":                         "A",
		`{"apiVersion":"v1","kind":"A"}`:                 "A",
		`{"apiVersion":"v\"1","kind":"A"}`:               "A",
		`{"apiVersion":"v1"}`:                            "",
		`{"metadata":{"kind":"X"},"x":[{}],"kind":"A"}`:  "A",
		`{"apiVersion":"v1","x":{"kind":"X"},"kind":"A"`: "A",
		`{"apiVersion":{"a":"","kind":"X"},"kind":"A"}`:  "A",
		`{"kind":7}`:                                     "", `{"kind":"A`: "", `{"x":`: "", `{`: "", `[]`: "", `null`: "", ``: "",
	} {
		if got := string((Format{}).Kind([]byte(object), false)); got != want {
			t.Errorf("Kind(%s) = %q, want %q", object, got, want)
		}
	}
	if got := (Format{}).Kind([]byte(`{"metadata":{},"kind":"A"}`), true); got != nil {
		t.Errorf("an item that begins with its metadata was gone through, to %q", got)
	}
}
