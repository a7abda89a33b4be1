package object_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

func TestOrderOfVersions(t *testing.T) {
	for _, test := range []struct {
		a, b         string
		older        bool
		newer        string
		ordered, any bool // of a
	}{
		{"9", "10", true, "10", true, false},
		{"10", "9", false, "10", true, false},
		{"10", "10", false, "10", true, false},
		{"99999999999999999999", "100000000000000000000", true, "100000000000000000000", true, false},
		{"", "10", false, "10", false, true},
		{"0", "10", false, "10", false, true},
		{"10", "", false, "10", true, false},
		{"opaque", "10", false, "10", false, false},
		{"opaque", "other", false, "opaque", false, false},
		{"010", "9", false, "9", false, false},
	} {
		if got := object.Older(test.a, test.b); got != test.older {
			t.Errorf("Older(%q, %q) = %v, want %v", test.a, test.b, got, test.older)
		}
		if got := object.Newer(test.a, test.b); got != test.newer {
			t.Errorf("Newer(%q, %q) = %q, want %q", test.a, test.b, got, test.newer)
		}
		if got := object.IsComparable(test.a); got != test.ordered {
			t.Errorf("Ordered(%q) = %v, want %v", test.a, got, test.ordered)
		}
		if got := object.IsAnyVersion(test.a); got != test.any {
			t.Errorf("Any(%q) = %v, want %v", test.a, got, test.any)
		}
	}
}

func TestAnotherObjectOfTheSameName(t *testing.T) {
	for _, test := range []struct {
		a, b types.UID
		want bool
	}{
		{"a", "b", true},
		{"a", "a", false},
		{"", "a", false},
		{"a", "", false},
		{"", "", false},
	} {
		if got := object.DifferentUID(test.a, test.b); got != test.want {
			t.Errorf("Another(%q, %q) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}
