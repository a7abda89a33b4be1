package json

import (
	stdjson "encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/internal/must"
)

type Embedded struct {
	Inner string
	Same  int `json:"same"`
}

type word string

// everything has a field of each kind that types of objects have, and of some that they
// do not.
type everything struct {
	metav1.TypeMeta `json:",inline"`
	Embedded
	Meta     metav1.ObjectMeta         `json:"metadata"`
	Text     string                    `json:"text,omitempty"`
	Word     word                      `json:"word"`
	Flag     *bool                     `json:"flag"`
	Small    int8                      `json:"small"`
	Large    *int64                    `json:"large,omitzero"`
	Unsigned uint16                    `json:"unsigned"`
	Float    float64                   `json:"float"`
	Bytes    []byte                    `json:"bytes"`
	Array    [2]int                    `json:"array"`
	Single   float32                   `json:"single"`
	Quantity resource.Quantity         `json:"quantity"`
	Period   time.Duration             `json:"period"`
	Digits   stdjson.Number            `json:"digits"`
	Anys     map[string]any            `json:"anys"`
	Any      any                       `json:"any"`
	Raw      jsontext.Value            `json:"raw"`
	Port     intstr.IntOrString        `json:"port"`
	Time     metav1.MicroTime          `json:"time"`
	Address  netip.Addr                `json:"address"`
	Words    []word                    `json:"words"`
	Lists    [][]int32                 `json:"lists"`
	Nested   []*everything             `json:"nested"`
	ByWord   map[word]everything       `json:"byWord"`
	ByList   map[string][]string       `json:"byList"`
	ByAddr   map[netip.Addr]string     `json:"byAddr"`
	ByNumber map[int]string            `json:"byNumber"`
	Pointers map[string]*metav1.Status `json:"pointers"`
	Quoted   quoted                    `json:"quoted"`
	Odd      odd                       `json:"odd"`
	Skipped  int                       `json:"-"`
	Plain    struct{ Name string }
}

type quoted struct {
	Number int64 `json:"number,string"`
}

type odd struct {
	*Embedded
	Ignoring string `json:"ignoring,case:ignore"`
}

// FuzzStructs compares with apimachinery's decoder, which client-go uses: the same bytes
// are refused, and what comes out of others is the same, from a memory that is full, too.
func FuzzStructs(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, ` { } `, `[]`, `7`, ``, `{"text":"a"} x`, `{"text":"a"}}`, `{"text":"a",}`, `{"text" "a"}`,
		`{"kind":"K","apiVersion":"v1","Inner":"i","same":3,"metadata":{"name":"n","labels":{"a":"b"}},"text":"t","word":"w","flag":true,"small":-128,"large":9223372036854775807}`,
		`{"small":128}`, `{"small":1.0}`, `{"small":-0}`, `{"small":"1"}`, `{"large":9223372036854775808}`, `{"unsigned":65535,"float":1e3}`, `{"unsigned":-1}`, `{"float":1e400}`,
		`{"text":null,"word":null,"flag":null,"small":null,"metadata":null,"words":null,"byWord":null,"byList":{"a":null},"nested":[null],"Plain":null,"port":null,"time":null,"any":null}`,
		`{"bytes":"aGVsbG8=","array":[1,2],"any":{"a":[1,null,"x"]},"raw":{"b": 1}}`, `{"bytes":"?"}`, `{"array":[1]}`,
		`{"port":"http"}`, `{"port":80}`, `{"port":{}}`, `{"time":"2026-11-20T11:18:00.000000Z"}`, `{"address":"10.0.0.1","byAddr":{"::1":"x"},"byNumber":{"7":"x"}}`, `{"address":"x"}`,
		`{"words":["a","b","a"],"lists":[[1,2],[],[3]],"nested":[{"text":"x","nested":[{"text":"y"}]}]}`, `{"words":[],"lists":[],"byWord":{},"byList":{}}`,
		`{"byWord":{"a":{"text":"x"},"b":{}},"byList":{"k":["v"]},"pointers":{"p":{"code":410}}}`, `{"byWord":{"a":{"text":"x"},"a":{"word":"w"}}}`,
		`{"text":"a","text":"b"}`, `{"metadata":{"name":"a"},"metadata":{"uid":"u"}}`, `{"words":["a","b"],"words":["c"]}`, `{"metadata":{"labels":{"a":"1","a":"2"}}}`,
		`{"any":9007199254740993,"anys":{"a":1,"b":1.5,"c":[1,{"d":18446744073709551615}],"a":null}}`, `{"any":1e400}`, `{"any":null,"any":1}`,
		`{"bytes":"aGVs\nbG8=","array":[1,2,3]}`, `{"bytes":[104,101]}`, `{"array":[1]}`, `{"period":5000000000,"digits":12345678901234567890}`, `{"digits":"1e3"}`, `{"digits":"x"}`, `{"quantity":"100m"}`,
		`{"text":"a","text":null}`, `{"byAddr":{"::1":"a","0:0::1":"b"},"byNumber":{"7":"a","07":"b"},"byList":{"a":["b"],"a":[]}}`, `{"float":"1"}`, `{"unsigned":1e1}`, `{"float":1.5e300}`,
		`{"quoted":{"number":"5"},"odd":{"Inner":"i","IGNORING":"x"}}`, `{"Plain":{"Name":"x","name":"y"}}`, `{"Skipped":7,"-":8,"unknown":{"a":[1,{"b":"\u00e9"}]}}`,
		`{"unknown":tru}`, `{"unknown":[1,]}`, `{"unknown":{"a":01}}`, `{"unknown":"\x"}`, "{\"unknown\":\"\x01\"}", "{\"unknown\":\"\xff\"}", `{"unknown":{"\u0061":1}}`, `{"unknown":{1:2}}`,
		`{"metadata":{"name":"a","creationTimestamp":"2026-11-20T11:18:00Z","deletionTimestamp":"2026-11-20T11:18:00Z","annotations":{"json":"{\"a\":1}","ä":"ö"}}}`,
		`{"metadata":{"creationTimestamp":null,"labels":null,"managedFields":[{"time":"2026-11-20T11:18:00.5+01:00","fieldsV1":{"f:a":{}}},{"fieldsV1":null},{"fieldsV1":{"f:a":{}}}]}}`,
		`{"metadata":{"labels":{"a":"1"},"labels":{"b":"3"}}}`, `{"metadata":{"labels":{"a":1}}}`, `{"metadata":{"labels":[]}}`, `{"metadata":{"creationTimestamp":"yesterday"}}`,
		"{\"metadata\":{\"labels\":{\"\xff\":\"\xfe\"}}}", `{"metadata":{"labels":{"\u0061":"b"}}}`, `{"metadata":{"managedFields":[{"fieldsV1":[1,}]}}`, `{"metadata":{"labels" : { "a" : "b" , "c" : "d" } }}`,
		`{"te\u0078t":"a"}`, "{\"text\":\"\xff\"}", `{"text":"\ud800\n"}`, `{"text":{}}`, `{"words":{}}`, `{"words":["a" "b"]}`, `{"words":[,]}`, `{"Same":1,"TEXT":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	alone, sharing := newStructDecoder(reflect.TypeFor[*everything](), false), newStructDecoder(reflect.TypeFor[*everything](), true)
	opts := []cmp.Option{cmp.AllowUnexported(), cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateNaNs()}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want *everything
		wantErr := utiljson.Unmarshal(data, &want)
		for _, decoder := range []*structDecoder{alone, sharing, sharing, sharing} {
			var got *everything
			err := decoder.Decode(data, &got)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("error %v, apimachinery's is %v", err, wantErr)
			}
			var syntactic *jsontext.SyntacticError
			if errors.As(err, &syntactic) != (err != nil && !stdjson.Valid(data)) {
				t.Fatalf("error %v of %q", err, data)
			}
			if err == nil && !cmp.Equal(want, got, opts...) {
				t.Fatalf("(-apimachinery +ours)\n%s", cmp.Diff(want, got, opts...))
			}
		}
	})
}

// What has a method or a meaning of its own keeps it as the whole object, too.
func TestStructsOfOtherKinds(t *testing.T) {
	for _, test := range []struct {
		into any
		data string
	}{
		{new(metav1.Time), `"2026-11-20T11:18:00Z"`},
		{new(time.Time), `"2026-11-20T11:18:00Z"`},
		{new(intstr.IntOrString), `"80%"`},
		{new(map[string]string), `{"a":"b"}`},
		{new([]string), `["a"]`},
		{new(any), `{"a":1}`},
		{new(chan int), `1`},
		{new(struct{}), `{"a":1}`},
		{new(struct{ A, B int }), `{"A":1,"B":2}`},
		{new(struct{ a int }), `{"a":1}`},
	} {
		want := reflect.New(reflect.TypeOf(test.into).Elem())
		wantErr := utiljson.Unmarshal([]byte(test.data), want.Interface())
		err := newStructDecoder(reflect.TypeOf(test.into).Elem(), true).Decode([]byte(test.data), test.into)
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(want.Interface(), test.into) {
			t.Errorf("%s into %T: %v, %v; apimachinery makes of it %v, %v", test.data, test.into, test.into, err, want.Interface(), wantErr)
		}
	}
}

// A slice is as long as it must be, and no claim of many elements takes memory.
func TestStructsSlices(t *testing.T) {
	var got struct{ Items []everything }
	must.OK(t, newStructDecoder(reflect.TypeOf(got), true).Decode([]byte(`{"Items":[{},{},{}]}`), &got))
	if len(got.Items) != 3 || cap(got.Items) != 3 {
		t.Errorf("%d elements in %d places", len(got.Items), cap(got.Items))
	}
}

// TestSharedHasNoRoom: who appends to a slice in a shared part does not write behind it.
func TestSharedHasNoRoom(t *testing.T) {
	type object struct {
		Spec *struct {
			Data   []byte  // base64 has padding
			Groups []int64 // too short to be looked for; the allocator makes room for a sixth
			Values any     // longer than what room is made for at first
		}
	}
	text := []byte(`{"Spec":{"Data":"YQ==","Groups":[1,2,3,4,5],"Values":[` + strings.Repeat("1,", maxHint) + `1]}}`)
	decoder := newStructDecoder(reflect.TypeFor[object](), true)
	var all [4]object
	for i := range all {
		must.OK(t, decoder.Decode(text, &all[i]))
	}
	if all[2].Spec != all[3].Spec {
		t.Fatal("it is not shared")
	}
	spec := all[3].Spec
	values := spec.Values.([]any)
	if cap(spec.Data) != 1 || cap(spec.Groups) != 5 || cap(values) != maxHint+1 {
		t.Errorf("places for %d, %d and %d elements", cap(spec.Data), cap(spec.Groups), cap(values))
	}
}
