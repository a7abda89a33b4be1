package apitest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// The lines of apitest/README.md work, and there is one for each fault.
func TestDocumentedFaultsWork(t *testing.T) {
	page := must.Get[[]byte](t)(os.ReadFile("README.md"))
	documented := make(map[string]bool)
	for _, line := range regexp.MustCompile("(?m)^\\| [^|`][^|]* \\| `(([a-z-]+)[^`]*)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented[line[2]] = true
		if line[2] == "refuse" {
			continue // it breaks the connection
		}
		s := New(Options{ResourceVersion: 100})
		s.Replica("replica-1")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, faultsPath+line[1], http.NoBody))
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", line[1], w.Code, w.Body)
		}
	}
	for _, f := range faultSwitches {
		if !documented[f.name] {
			t.Errorf("the page has no line for %s", f.name)
		}
	}
}
