package digest

import "testing"

// The lines by which programs in other languages can be checked: printf and sha256sum make the
// same.
func TestLine(t *testing.T) {
	for _, c := range []struct {
		objects []Object
		want    string
	}{
		{nil, "0 e3b0c44298fc1c14"}, // the SHA-256 of nothing
		{[]Object{{Namespace: "ns", Name: "a"}}, "1 d529aab43609f157"},
	} {
		if got := Line(c.objects); got != c.want {
			t.Errorf("Line(%v) = %q, want %q", c.objects, got, c.want)
		}
	}
	a := Object{Namespace: "a", Name: "z", Data: map[string]string{"x": "1", "y": "é"}}
	b := Object{Namespace: "a-", Name: "b"}
	poison := Object{Namespace: "a", Name: "poison-1", Data: map[string]string{"x": "?"}}
	if got, want := Line([]Object{b, poison, a}), Line([]Object{a, b}); got != want {
		t.Errorf("the order, or what is poison, counts: %q, want %q", got, want)
	}
	if Line([]Object{a}) == Line([]Object{{Namespace: "a", Name: "z", Data: map[string]string{"x": "1"}}}) {
		t.Error("a missing key does not count")
	}
}
