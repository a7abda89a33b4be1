package cbor

import (
	"encoding/hex"
	"reflect"
	"regexp"
	"strings"
	"testing"

	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// Each value is a member "v" of a map.
func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		"00 ": `0`, "1bffffffffffffffff": `18446744073709551615`, "20": `-1`, "3b7fffffffffffffff": `-9223372036854775808`, "3bffffffffffffffff": `-18446744073709552000`,
		"f4": `false`, "f5": `true`, "f6": `null`, "f7": `null`, "f8ff": `null`,
		"f93e00": `1.5`, "f9c400": `-4`, "f90001": `5.960464477539063e-8`, "f97c00": `null`, "f97e00": `null`,
		"fa47c35000": `100000`, "fa7f800000": `null`, "fb3ff199999999999a": `1.1`, "fb7e37e43c8800759c": `1e+300`, "fbfff0000000000000": `null`,
		"43616263": `"abc"`, "63616263": `"abc"`, "60": `""`, "64225c0a1f": `"\"\\\u000a\u001f"`, "62c3bc": `"ü"`, "41ff": "\"\xff\"",
		"7f61616162ff": `"ab"`, "5fff": `""`,
		"d64301ff03": `"Af8D"`, "d543fbfffe": `"-__-"`, "d74201ab": `"01ab"`, "d65f4101 42ff03ff": `"Af8D"`, "d663616263": `"abc"`, "d640": `""`, "82d6414141 41": `["QQ==","A"]`,
		"c074323031332d30332d32315432303a30343a30305a": `"2013-03-21T20:04:00Z"`, "c24101": "\"\\u0001\"",
		"80": `[]`, "9fff": `[]`, "820182f6a0": `[1,[null,{}]]`, "bf6161019f": ``,
		"a2616201616102": `{"a":2,"b":1}`, "a36261620141610241621903e8": `{"a":2,"ab":1,"b":1000}`,
		"bf6162a2616402616301616101ff": `{"a":1,"b":{"c":1,"d":2}}`, "a301022003f504": `{"-1":3,"1":2,"true":4}`,
	} {
		data, err := hex.DecodeString("a16176" + strings.ReplaceAll(in, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := asJSON(data)
		if whole := `{"v":` + want + `}`; want == "" && err == nil || want != "" && (string(got) != whole || err != nil) {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, whole)
		}
	}
}

// unusual are tags that Kubernetes does not write and that are ignored: those for a time, and
// those for the encoding of bytes somewhere inside.
var unusual = regexp.MustCompile(`\b[01]\(|\b2[123]\([^h']`)

// FuzzJSON compares with apimachinery's decoder, for all that it accepts.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"d9d9f7a2616161f6626262d64101", "bf61619f018202ffff", "a1617ffb3ff8000000000000", "a161617f6161ff", "a1617ac11a514b67b0"} {
		data, _ := hex.DecodeString(seed)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]any
		if direct.Unmarshal(data, &want) != nil || want == nil {
			return
		}
		if text, err := direct.Diagnose(data); err != nil || unusual.MatchString(text) {
			return
		}
		wantJSON, err := gojson.Marshal(want, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		gotJSON, err := asJSON(data)
		if err != nil {
			t.Fatalf("%x: %v", data, err)
		}
		var got, again any
		if err := gojson.Unmarshal(gotJSON, &got, jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Fatalf("%x is %s: %v", data, gotJSON, err)
		}
		if err := gojson.Unmarshal(wantJSON, &again); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, again) {
			t.Fatalf("%x is %s, and %s for apimachinery", data, gotJSON, wantJSON)
		}
	})
}
