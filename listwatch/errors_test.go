package listwatch

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/transport"
)

// TestNoErrorOfAStreamQuotesTheToken has proxies that send the request's header back
// inside what looks like a watch, at every distance from where errors cut.
func TestNoErrorOfAStreamQuotesTheToken(t *testing.T) {
	const secret = "eyJhbGciOiJSUzI1NiJ9"
	token := secret + strings.Repeat(".0123456789", 60)
	for name, frame := range map[string]string{
		"no event":            `{"pad":"%s","authorization":"Bearer %s"}`,
		"no event, and a 200": `{"pad":"%s","object":{},"type":{"authorization":"Bearer %s"}}`,
		"unknown type":        `{"pad":"%s","type":"Bearer %s","object":{"metadata":{"name":"a"}}}`,
		"long type":           `{"type":"%s %s","object":{}}`,
		"no Status":           `{"type":"ERROR","object":{"pad":"%s","authorization":"Bearer %s"}}`,
		"a Status":            `{"type":"ERROR","object":{"kind":"Status","message":"%s Bearer %s"}}`,
		"a bookmark":          `{"type":"BOOKMARK","object":{"pad":"%s","metadata":"Bearer %s"}}`,
	} {
		for _, pad := range []int{0, 20, 30, 40, 45, 130, 150, 170, 180, 190, 200, 300} {
			text := fmt.Sprintf(frame, strings.Repeat("-", pad), token)
			client := serveWith(t, transport.Config{BearerToken: token}, body(text))
			_, err := readAll(t, mustNew(t, client, Options[*configMap]{}))
			if err == nil || strings.Contains(err.Error(), secret[:4]) {
				t.Errorf("%s after %d bytes: error is %v", name, pad, err)
			}
		}
	}
}

func TestErrorOfAnObjectQuotesNoValue(t *testing.T) {
	text := `{"type":"ADDED","object":{"metadata":{"name":"a"},"data":"swordfish"}}`
	w, err := mustNew(t, serve(t, body(text)), Options[*configMap]{}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	event, err := w.Next()
	if err != nil || event.Err == nil {
		t.Fatalf("got %+v, %v, want an object that cannot be decoded", event, err)
	}
	if s := event.Err.Error(); strings.Contains(s, "swordfish") || !strings.Contains(s, "/data") {
		t.Errorf("error is %q, want one that names the place and not the value", s)
	}
}
