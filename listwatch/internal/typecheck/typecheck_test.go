package typecheck_test

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/listwatch/internal/typecheck"
)

// Meta is what most types embed.
type Meta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type byHand struct{ Anything chan int }

func (*byHand) UnmarshalJSON([]byte) error { return nil }
func (*byHand) GetName() string            { return "probe" }

type panics struct{ Meta }

func (*panics) GetName() string { panic("not for probes") }

// TestTypesThatAreTaken are those that a program may have.
func TestTypesThatAreTaken(t *testing.T) {
	for name, value := range map[string]any{
		"nothing but metadata":      Meta{},
		"metadata of apimachinery":  metav1.PartialObjectMetadata{},
		"a type that decodes alone": byHand{},
		"a getter that panics":      panics{},
		"alone what decodes itself": struct{ metav1.MicroTime }{},
		"fields that stay empty": struct {
			Meta
			PodIP string
			C     chan int `json:"c"`
		}{},
	} {
		if _, err := typecheck.Check(reflect.TypeOf(value), false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := typecheck.Check(reflect.PointerTo(reflect.TypeOf(value)), false); err != nil {
			t.Errorf("a pointer to %s: %v", name, err)
		}
	}
}

// TestTypesThatAreRefused: an error says what to write.
func TestTypesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		value any
		want  []string
	}{
		"metadata without a tag": {struct{ metav1.ObjectMeta }{}, []string{`GetName returns ""`, "`json:\"metadata\"`"}},
		"metadata with inline": {struct {
			metav1.ObjectMeta `json:",inline"`
		}{}, []string{`GetName returns ""`, "`json:\"metadata\"`"}},
		"metadata under another name": {struct {
			metav1.ObjectMeta `json:"meta"`
		}{}, []string{`GetName returns ""`, "`json:\"metadata\"`"}},
		"metadata of another kind": {struct {
			metav1.TypeMeta
			Metadata string `json:"metadata"`
		}{}, []string{"no object with metadata can be", "metadata"}},
		"a kind where an item has none": {struct{ unstructured.Unstructured }{}, []string{"items of lists name no kind", "*unstructured.Unstructured"}},
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
