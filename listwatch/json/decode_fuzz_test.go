package json

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// apimachinery decodes an object as unstructured.Unstructured does.
func apimachinery(data []byte) (map[string]any, error) {
	object := map[string]any{}
	err := utiljson.Unmarshal(data, &object)
	return object, err
}

// FuzzDecode compares with apimachinery: the same bytes are refused, and what comes out
// of others is the same, to the type of each number. Everything is decoded twice more
// with the same decoder, so that most of it comes out of its memory.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":null}`, `{"a":[]}`, `{"a":[ ]}`, `{"a":{},"b":{}}`, `{"a":1,"a":{"b":2},"a":[3]}`,
		`{"a":0,"b":-0,"c":-1,"d":9223372036854775807,"e":9223372036854775808,"f":-9223372036854775808,"g":-9223372036854775809}`,
		`{"a":1.0,"b":1e2,"c":1E+2,"d":0.1e-7,"e":1e400}`, `{"a":1e400}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":+1}`,
		`{"a":"\u00e9\ud83d\ude00\ud83d\n\"\\\/"}`, "{\"a\":\"\xff\xfe\"}", "{\"\xc3\xa9\":\"\xc3\xa9\"}", "{\"a\":\"\x01\"}", `{"a":"\x"}`, "{\"a\":\"\x7f\"}",
		`{"a":true,"b":false,"c":tru}`, `{"a":nul}`, `{"a":True}`, `{"a" : [ 1 , "x" , { "y" : [ [ ] ] } ] }`,
		`{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `{"a":[1,]}`, `{"a":[,]}`, `{"a":[1 2]}`, `{a:1}`, `{"a":{]}`, `{"a":1}}`, `{"a":1} x`, `{"a":`, `{"a":"`, `{"a":"\`,
		`{"metadata":{"name":"x","labels":{"a":"b"}},"spec":{"metadata":{"name":"x","labels":{"a":"b"}}}}`,
		"{\"a\":\v1}", "\ufeff{}", "{\"a\":1}\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantErr := apimachinery(data)
		if strings.TrimLeft(string(data), " \t\r\n") == "" || strings.TrimLeft(string(data), " \t\r\n")[0] != '{' {
			wantErr = cmpopts.AnyError // null is no object to us
		}
		var alone treeDecoder
		sharing := treeDecoder{share: true}
		for _, decoder := range []*treeDecoder{&alone, &sharing, &sharing, &sharing} {
			got, err := decoder.Decode(data)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("share=%v: error %v, apimachinery's is %v", decoder.share, err, wantErr)
			}
			if err == nil && !cmp.Equal(want, got) {
				t.Fatalf("share=%v: (-apimachinery +ours)\n%s", decoder.share, cmp.Diff(want, got))
			}
		}
	})
}
