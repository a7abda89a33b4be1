package typecheck_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/relist-go/relist/listwatch/internal/typecheck"
)

// Meta is what most types embed.
type Meta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type unexported struct {
	Phase string `json:"phase"`
}

type byHand struct{ Anything chan int }

func (*byHand) UnmarshalJSON([]byte) error { return nil }
func (*byHand) GetName() string            { return "probe" }

// byValue has the method of a value, for which the compiler makes one of a pointer.
type byValue struct {
	runtime.RawExtension `json:"raw"`

	Parts map[string]int `json:"parts"`
}

func (v byValue) UnmarshalJSON([]byte) error { v.Parts["one"] = 1; return nil }

type hasByValue struct {
	Meta
	Odd byValue `json:"odd"`
}

type panics struct{ Meta }

func (*panics) GetName() string { panic("not for probes") }

type Phase string

func (p *Phase) UnmarshalText(text []byte) error { *p = Phase(text); return nil }

type node struct {
	Meta

	Next  *node           `json:"next"`
	Parts map[string]node `json:"parts"`
}

// TestTypesThatAreTaken are those that a program may have.
func TestTypesThatAreTaken(t *testing.T) {
	for name, value := range map[string]any{
		"metadata alone": Meta{},
		"apimachinery's": metav1.PartialObjectMetadata{},
		"of other modules' types": struct {
			Meta

			Raw      runtime.RawExtension      `json:"raw"`
			Port     *intstr.IntOrString       `json:"port,omitempty"`
			Selector *metav1.LabelSelector     `json:"selector"`
			Time     metav1.Time               `json:"time"`
			Period   time.Duration             `json:"period"`
			Address  netip.Addr                `json:"address"`
			Nested   unstructured.Unstructured `json:"nested"`
		}{},
		"every kind": struct {
			Meta

			A any                      `json:"a"`
			B []byte                   `json:"b"`
			C [4]byte                  `json:"c"`
			D map[int]map[uint8]string `json:"d"`
			E map[netip.Addr]float32   `json:"e"`
			F map[Phase][]*int64       `json:"f,omitzero"`
			G **bool                   `json:"g"`
			H uintptr                  `json:"h"`
		}{},
		"a pointer to metadata": struct {
			*metav1.ObjectMeta `json:"metadata"`
		}{},
		"numbers in quotes": struct {
			Meta

			N  int64  `json:"n,string"`
			B  *bool  `json:"b,omitempty,string"`
			OK string `json:"ok,string"`
		}{},
		"what is the program's own": struct {
			Meta

			Done    chan struct{} `json:"-"`
			Cached  string        `json:"-"`
			private func()
		}{},
		"an embedded struct that is not exported": struct {
			Meta
			unexported
		}{},
		"a field that hides one of an embedded struct": struct {
			Meta
			unexported

			Phase Phase `json:"phase"`
		}{},
		"a type that decodes itself": byHand{},
		"a field that decodes itself": struct {
			Meta
			Odd byHand `json:"odd"`
		}{},
		"a method of a value":      hasByValue{},
		"a GetName that panics":    panics{},
		"a type that is in itself": node{},
		"a dash for a name": struct {
			Meta
			Dash string `json:"-,"` //nolint:staticcheck // on purpose
		}{},
		"a comma at the end": struct {
			Meta
			Comma string `json:"comma,"` //nolint:staticcheck // on purpose
		}{},
		"alone what decodes itself": struct{ metav1.MicroTime }{},
	} {
		if _, err := typecheck.Check(reflect.TypeOf(value), false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := typecheck.Check(reflect.PointerTo(reflect.TypeOf(value)), false); err != nil {
			t.Errorf("a pointer to %s: %v", name, err)
		}
	}
}

type left struct{ A, B string }

// withTags returns a struct with metadata and other fields, all with one tag. In the source
// such a struct would not get past go vet.
func withTags(tag reflect.StructTag, names ...string) any {
	fields := []reflect.StructField{{Name: "Metadata", Type: reflect.TypeFor[metav1.ObjectMeta](), Tag: `json:"metadata"`}}
	for _, name := range names {
		f := reflect.StructField{Name: name, Type: reflect.TypeFor[string](), Tag: tag}
		if name == strings.ToLower(name) {
			f.PkgPath = reflect.TypeFor[Meta]().PkgPath()
		}
		fields = append(fields, f)
	}
	return reflect.Zero(reflect.StructOf(fields)).Interface()
}

type inNested struct {
	Meta

	Spec struct {
		Templates map[string][]*struct{ Replicas int } `json:"templates"`
	} `json:"spec"`
}

// TestTypesThatAreRefused: an error names the field, and says what to write.
func TestTypesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		value any
		want  []string
	}{
		"metadata without a tag": {struct{ metav1.ObjectMeta }{}, []string{"field ObjectMeta", "`json:\"metadata\"`"}},
		"metadata with inline": {struct {
			metav1.ObjectMeta `json:",inline"`
		}{}, []string{"field ObjectMeta", "`json:\"metadata\"`"}},
		"metadata under another name": {struct {
			metav1.ObjectMeta `json:"meta"`
		}{}, []string{`GetName returns ""`, "`json:\"metadata\"`"}},
		"metadata of another kind": {struct {
			metav1.TypeMeta
			Metadata string `json:"metadata"`
		}{}, []string{"no object with metadata can be", "metadata"}},
		"no tag": {struct {
			Meta
			PodIP string
		}{}, []string{"field PodIP", "`json:\"podIP\"`", "`json:\"-\"`"}},
		"no tag, all capitals": {struct {
			Meta
			URL string
		}{}, []string{"field URL", "`json:\"url\"`"}},
		"no tag, in a struct": {inNested{}, []string{"field Spec.Templates.Replicas", "`json:\"replicas\"`"}},
		"no name": {struct {
			Meta
			Data string `json:",omitempty"`
		}{}, []string{"field Data", "`json:\"data\"`"}},
		"no colon": {withTags(`json:data`, "Data"), []string{"malformed", "`json:\"data\"`"}},
		"no tag, yaml": {struct {
			Meta
			Data string `yaml:"data"`
		}{}, []string{"field Data", "`json:\"data\"`"}},
		"a list embedded": {struct {
			Meta
			Labels
		}{}, []string{"field Labels", "`json:\"labels\"`"}},
		"a space in the options": {withTags(`json:"tags, omitempty"`, "Tags"), []string{"field Tags", `" omitempty"`, `write "omitempty"`}},
		"capitals in the options": {struct {
			Meta
			Tags string `json:"tags,omitEmpty"` //nolint:staticcheck // on purpose
		}{}, []string{`"omitEmpty"`, `write "omitempty"`}},
		"an option of json/v2": {struct {
			Meta
			Tags string `json:"tags,case:ignore"`
		}{}, []string{`"case:ignore"`, "`json:\"tags\"`"}},
		"white space": {withTags(`json:" tags"`, "Tags"), []string{"white space", "`json:\"tags\"`"}},
		"a quote": {struct {
			Meta
			Tags string `json:"'tags'"`
		}{}, []string{"encoding/json ignores", "`json:\"tags\"`"}},
		"inline, not embedded": {struct {
			Meta
			Extra map[string]any `json:",inline"`
		}{}, []string{"field Extra", "`json:\"extra\"`"}},
		"inline with a name": {struct {
			Meta
			Extra map[string]any `json:"extra,inline"`
		}{}, []string{"option inline"}},
		"string for a list": {struct {
			Meta
			Tags []string `json:"tags,string"` //nolint:staticcheck // on purpose
		}{}, []string{"option string", "[]string"}},
		"not exported": {withTags(`json:"tags"`, "tags"), []string{"field tags is not exported"}},
		"an embedded pointer": {struct {
			Meta
			*unexported
		}{}, []string{"embedded pointer"}},
		"two of one name": {withTags(`json:"tags"`, "Tags", "Marks"), []string{"Tags", "Marks", "neither"}},
		"a channel": {struct {
			Meta
			C chan int `json:"c"`
		}{}, []string{"field C is a chan", "`json:\"-\"`"}},
		"a func": {struct {
			Meta
			F []func() `json:"f"`
		}{}, []string{"field F is a func"}},
		"a complex number": {struct {
			Meta
			Z map[string]complex128 `json:"z"`
		}{}, []string{"field Z is a complex128"}},
		"an interface": {struct {
			Meta
			E error `json:"e"`
		}{}, []string{"field E is the interface error", "write any"}},
		"keys that are structs": {struct {
			Meta
			M map[left]string `json:"m"`
		}{}, []string{"field M is a map", "UnmarshalText"}},
		"a method of a part": {struct {
			Meta
			metav1.Duration
		}{}, []string{"UnmarshalJSON", "embedded field Duration"}},
		"a kind where an item has none": {struct{ unstructured.Unstructured }{}, []string{"items of lists name no kind", "*unstructured.Unstructured"}},
		"a nil pointer's method":        {struct{ *unstructured.Unstructured }{}, []string{"nil pointer"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := typecheck.Check(reflect.TypeOf(test.value), false)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range append(test.want, "objects cannot be decoded into") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

type Labels []string
