package traces

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/internal/must"
)

// The typed clients ask for built-in types in protobuf, if they are told nothing.
func TestEncodings(t *testing.T) {
	accept := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		accept <- req.Header.Get("Accept")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer srv.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	must.OK(t, err)
	if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the list came, of a server that has none")
	}
	if got := <-accept; !strings.HasPrefix(got, "application/vnd.kubernetes.protobuf") {
		t.Errorf("Accept is %q, want protobuf first", got)
	}
}
