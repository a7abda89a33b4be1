package memserver

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type pom = *metav1.PartialObjectMetadata

func seen(t *testing.T, s *Server[pom], opts metav1.ListOptions) (keys, next string) {
	t.Helper()
	page, err := s.List(t.Context(), opts)
	if err != nil {
		return err.Error(), ""
	}
	for _, obj := range page.Items {
		keys += fmt.Sprintf("%s@%s ", obj.Name, obj.ResourceVersion)
	}
	return keys + "at " + page.ResourceVersion, page.Continue
}

// Lists are of the present, of an older version, or of one object; later pages are of the version
// of the first.
func TestLists(t *testing.T) {
	s := New[pom]()
	s.Prefix = "v"
	for _, key := range []string{"b", "a", "c"} {
		s.Set(key, &metav1.PartialObjectMetadata{})
	}
	s.Remove("c")
	first, next := seen(t, s, metav1.ListOptions{Limit: 2, ResourceVersion: "v3", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	s.Remove("b")
	second, _ := seen(t, s, metav1.ListOptions{Limit: 2, Continue: next})
	now, _ := seen(t, s, metav1.ListOptions{ResourceVersion: "0"})
	one, _ := seen(t, s, metav1.ListOptions{FieldSelector: "metadata.name=b"})
	s.SetOldest(4)
	late, _ := seen(t, s, metav1.ListOptions{Limit: 2, Continue: next})
	got := []string{first, second, now, one, late}
	want := []string{"a@v2 b@v1 at v3", "c@v3 at v3", "a@v2 at v5", "at v5", "too old resource version: 3 (4)"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("list %d has %q, want %q", i, got[i], want[i])
		}
	}
	if s.Lists() != 2 {
		t.Errorf("%d lists, want 2: neither a page nor a list of one object counts", s.Lists())
	}
}
