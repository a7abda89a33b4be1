package listwatch

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"

	"github.com/relist-go/relist/internal/must"
)

// For each field of ListOptions, set to a value, to its zero value, and to a pointer
// to the zero value, the query equals the one that apimachinery makes. The test finds
// fields that a later version adds.
func TestQuery(t *testing.T) {
	check := func(opts metav1.ListOptions) {
		t.Helper()
		want, err := queryparams.Convert(&opts)
		must.OK(t, err)
		if diff := cmp.Diff(want, queryOf(&opts)); diff != "" {
			t.Errorf("%+v (-apimachinery +ours)\n%s", opts, diff)
		}
	}
	check(metav1.ListOptions{})
	for i := range reflect.TypeFor[metav1.ListOptions]().NumField() {
		var opts metav1.ListOptions
		field := reflect.ValueOf(&opts).Elem().Field(i)
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			check(opts)
			field = field.Elem()
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString("a=b&c d")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int64:
			field.SetInt(-7)
		case reflect.Struct: // TypeMeta
		default:
			t.Fatalf("ListOptions has a field of kind %v", field.Kind())
		}
		check(opts)
	}
}
