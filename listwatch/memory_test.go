package listwatch

import (
	"runtime"
	"testing"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
)

// After the caller has dropped a list, the Client keeps no part of it alive.
func TestClientKeepsNoItems(t *testing.T) {
	r := mustNew(t, serve(t, body(`{"kind":"ConfigMapList","apiVersion":"v1","items":[`+objectJSON+`]}`)), Options[*configMap]{})
	item := func() weak.Pointer[configMap] {
		page, err := r.List(t.Context(), metav1.ListOptions{})
		must.OK(t, err)
		return weak.Make(page.Items[0])
	}()
	runtime.GC()
	if item.Value() != nil {
		t.Error("an item of a dropped page is still in memory")
	}
	runtime.KeepAlive(r)
}
