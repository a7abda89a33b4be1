package typecheck_test

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/listwatch/internal/typecheck"
)

// metadata has getters that follow no tag, so that each test can give it other tags.
type metadata struct{ namespace, name, uid, version string }

func (m *metadata) GetNamespace() string       { return m.namespace }
func (m *metadata) GetName() string            { return m.name }
func (m *metadata) GetUID() types.UID          { return types.UID(m.uid) }
func (m *metadata) GetResourceVersion() string { return m.version }

// The getters of these types return something else than the server sent.
type (
	noUID         struct{ metav1.ObjectMeta }
	nameForUID    struct{ Meta }
	noVersion     struct{ Meta }
	uidForVersion struct{ Meta }
	nameForSpace  struct{ Meta }
	noNamespace   struct{ Meta }
	decodesNone   struct{ metadata }
	decodesAll    struct{ metadata }
)

func (*noUID) UnmarshalJSON([]byte) error               { return nil }
func (*noUID) GetName() string                          { return "probe" }
func (n *nameForUID) GetUID() types.UID                 { return types.UID(n.Name) }
func (*noVersion) GetResourceVersion() string           { return "" }
func (u *uidForVersion) GetResourceVersion() string     { return string(u.UID) }
func (n *nameForSpace) GetNamespace() string            { return n.Name }
func (*noNamespace) GetNamespace() string               { return "" }
func (*decodesNone) UnmarshalJSON([]byte) error         { panic("not for probes") }
func (d *decodesAll) UnmarshalJSON(object []byte) error { return d.read(object) }

func (m *metadata) read(object []byte) error {
	member := func(name string) string {
		_, rest, _ := strings.Cut(string(object), `"`+name+`":"`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	*m = metadata{member("namespace"), member("name"), member("uid"), member("resourceVersion")}
	return nil
}

func TestGetters(t *testing.T) {
	for name, test := range map[string]struct {
		value      any
		namespaced bool
		namespace  bool
		want       []string // nil: the type is taken
	}{
		"metav1.ObjectMeta":               {value: Meta{}, namespaced: true, namespace: true},
		"apimachinery's metadata":         {value: metav1.PartialObjectMetadata{}, namespaced: true, namespace: true},
		"no namespace":                    {value: noNamespace{}},
		"no namespace, but one is needed": {value: noNamespace{}, namespaced: true, want: []string{`GetNamespace returns ""`, "`json:\"namespace\"`"}},
		"the name as namespace":           {value: nameForSpace{}, want: []string{`GetNamespace returns "probe"`, "`json:\"namespace\"`"}},
		"no UID":                          {value: noUID{}, want: []string{`GetUID returns ""`, "`json:\"uid\"`"}},
		"the name as UID":                 {value: nameForUID{}, want: []string{`GetUID returns "probe"`, "`json:\"uid\"`"}},
		"no version":                      {value: noVersion{}, want: []string{`GetResourceVersion returns ""`, "`json:\"resourceVersion\"`"}},
		"the UID as version":              {value: uidForVersion{}, want: []string{"GetResourceVersion returns", "`json:\"resourceVersion\"`"}},
		"decodes itself":                  {value: decodesAll{}, namespaced: true, namespace: true},
		"decodes itself, not the probe":   {value: decodesNone{}, namespaced: true},
	} {
		namespace, err := typecheck.Check(reflect.TypeOf(test.value), test.namespaced)
		if (err != nil) != (test.want != nil) || namespace != test.namespace {
			t.Errorf("%s: namespace %v, error %v", name, namespace, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q does not say %q", name, err, want)
			}
		}
	}
}
