package listwatch

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// configMap is a struct such as a program defines for itself.
type configMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data"`
}

// serve starts a server and returns a client for it.
func serve(t testing.TB, handler http.HandlerFunc) *transport.Client {
	t.Helper()
	return serveWith(t, transport.Config{}, handler)
}

func serveWith(t testing.TB, config transport.Config, handler http.HandlerFunc) *transport.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config.Server = server.URL
	client, err := transport.NewClient(config)
	must.OK(t, err)
	t.Cleanup(client.Close)
	return client
}

// body answers every request with one JSON body.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}
}

// replay answers every request with bytes that a real API server sent.
func replay(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	capture, err := os.ReadFile("../testdata/captures/" + name)
	must.OK(t, err)
	start := bytes.Index(capture, []byte("HTTP/1.1 ")) // what stands before tells the request
	if start < 0 {
		t.Fatalf("%s has no response", name)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		// The file ends with one newline more than the response.
		_, _ = conn.Write(bytes.TrimSuffix(capture[start:], []byte("\n")))
	}
}

func mustNew[T object.Object](t testing.TB, client *transport.Client, opts Options[T]) *Client[T] {
	t.Helper()
	r, err := New(client, configMaps, opts)
	must.OK(t, err)
	return r
}
