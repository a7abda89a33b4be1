package listwatch

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

// TestNoErrorOfAStreamQuotesTheToken has proxies that send the request's header back
// inside what looks like a watch. The token stands at every distance from the place
// where errors cut a quotation.
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
	must.OK(t, err)
	defer w.Close()
	event, err := w.Next()
	if err != nil || event.Err == nil {
		t.Fatalf("got %+v, %v, want an object that cannot be decoded", event, err)
	}
	if s := event.Err.Error(); strings.Contains(s, "swordfish") || !strings.Contains(s, "/data") {
		t.Errorf("error is %q, want one that names the place and not the value", s)
	}
}

// The error of apimachinery for an object without a kind is all of the object.
func TestErrorOfAPartWithoutKindQuotesNothing(t *testing.T) {
	type holder struct {
		metav1.ObjectMeta `json:"metadata"`

		Template unstructured.Unstructured `json:"template"`
	}
	for member, want := range map[string]string{
		`"password":"swordfish"`:             "it names no kind",
		`"apiVersion":"","data":"swordfish"`: "it names no kind",
		`"kind":[1],"password":"swordfish"`:  "kind",
	} {
		r := mustNew(t, serve(t, body(`{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"},"template":{`+member+`}}]}`)), Options[*holder]{})
		page, err := r.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(page.Errors) != 1 {
			t.Fatalf("got %+v, %v, want an object that cannot be decoded", page, err)
		}
		if s := page.Errors[0].Error(); strings.Contains(s, "swordfish") || !strings.Contains(s, "/template") || !strings.Contains(s, want) {
			t.Errorf("error is %q, want one that names the place and %q, and not the value", s, want)
		}
	}
}

// phase is a type of a program's own, whose errors quote what it cannot read.
type phase string

func (*phase) UnmarshalJSON(text []byte) error { return fmt.Errorf("unknown phase %s", text) }

// Types of the standard library and of apimachinery quote the whole value that they cannot
// read, however long it is. What a program's own type says is kept, up to a bound.
func TestErrorOfATypeThatDecodesItself(t *testing.T) {
	type holder struct {
		metav1.ObjectMeta `json:"metadata"`

		Time     metav1.Time          `json:"time"`
		Micro    *metav1.MicroTime    `json:"micro"`
		Duration metav1.Duration      `json:"duration"`
		Port     intstr.IntOrString   `json:"port"`
		Address  netip.Addr           `json:"address"`
		Names    map[netip.Addr]phase `json:"names"`
		Phase    phase                `json:"phase"`
		Small    int8                 `json:"small"`
	}
	value := strings.Repeat("swordfish", 10_000)
	for field, test := range map[string]struct{ value, want string }{
		"time":     {`"` + value + `"`, "v1.Time within"},
		"micro":    {`"` + value + `"`, "v1.MicroTime within"},
		"duration": {`"` + value + `"`, "v1.Duration within"},
		"port":     {strings.Repeat("9", 100_000), "intstr.IntOrString within"},
		"address":  {`"` + value + `"`, "netip.Addr within"},
		"names":    {`{"` + value + `":1}`, "netip.Addr within"},
		"small":    {"999", "value out of range"},
		"phase":    {`"Done` + strings.Repeat("é", 10_000) + `"`, `unknown phase "Done`},
	} {
		r := mustNew(t, serve(t, body(`{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"},"`+field+`":`+test.value+`}]}`)), Options[*holder]{})
		page, err := r.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(page.Errors) != 1 {
			t.Fatalf("%s: got %+v, %v, want an object that cannot be decoded", field, page, err)
		}
		s := page.Errors[0].Error()
		if len(s) > 1000 || !utf8.ValidString(s) || !strings.Contains(s, `"/`+field) || !strings.Contains(s, test.want) ||
			strings.Contains(s, `"swordfish`) || strings.Contains(s, "999") {
			t.Errorf("%s: the error has %d bytes: %.1000s", field, len(s), s)
		}
	}
}
