package listwatch

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzStruct compares with json/v2 as it is: the same bytes are refused, and what comes
// out of others is the same, from a decoder that has just decoded the same object too.
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
		wantErr := json.Unmarshal(data, &want, lenient)
		for _, share := range []bool{false, true} {
			unmarshal := newStructs(reflect.TypeFor[metav1.PartialObjectMetadata](), share)
			for range 4 {
				var got metav1.PartialObjectMetadata
				err := unmarshal(data, &got)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("share=%v: error %v, json's is %v", share, err, wantErr)
				}
				if err == nil && !cmp.Equal(want, got) {
					t.Fatalf("share=%v: (-json +ours)\n%s", share, cmp.Diff(want, got))
				}
			}
		}
	})
}

func TestManagedFieldsAreShared(t *testing.T) {
	const object = `{"metadata":{"name":"a","managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":{}}}]}}`
	for _, test := range []struct {
		name      string
		transform func(*metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error)
		want      bool
	}{
		{"without a transform", nil, true},
		{"with one, which may write", func(m *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) { return m, nil }, false},
	} {
		d, err := newDecoder(test.transform, JSON)
		if err != nil {
			t.Fatal(err)
		}
		var fields [3]*metav1.FieldsV1
		for i := range fields { // what comes for the second time is kept
			obj, _, bad := d.decode(d.encodings[0], []byte(object), itemKind(metav1.TypeMeta{}))
			if bad != nil {
				t.Fatal(bad)
			}
			fields[i] = obj.ManagedFields[0].FieldsV1
		}
		same := unsafe.SliceData(fields[1].GetRawBytes()) == unsafe.SliceData(fields[2].GetRawBytes())
		if same != test.want {
			t.Errorf("%s: shared is %v", test.name, same)
		}
		if fields[1] == fields[2] {
			t.Errorf("%s: two objects have the same FieldsV1, which has a setter", test.name)
		}
	}
}
