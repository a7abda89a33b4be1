package listwatch

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

func TestListOfARealServer(t *testing.T) {
	r := mustNew(t, serve(t, replay(t, "list-page1.http")), Options[*configMap]{})
	page, err := r.List(t.Context(), metav1.ListOptions{Limit: 2})
	must.OK(t, err)
	if page.ResourceVersion != "40488" || !strings.HasPrefix(page.Continue, "eyJ2") || page.Remaining == nil || *page.Remaining != 3 {
		t.Errorf("list metadata is %q, %q, %v", page.ResourceVersion, page.Continue, page.Remaining)
	}
	var got []string
	for _, item := range page.Items {
		got = append(got, item.Namespace+"/"+item.Name+"@"+item.ResourceVersion+" v="+item.Data["v"])
	}
	if diff := cmp.Diff([]string{"trace/a@40471 v=1", "trace/b@40472 v=1"}, got); diff != "" {
		t.Errorf("items differ (-want +got):\n%s", diff)
	}
}

func TestListGivesUnstructuredItemsTheirKind(t *testing.T) {
	client := serve(t, replay(t, "list-page1.http"))
	page, err := mustNew(t, client, Options[*unstructured.Unstructured]{}).List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	for _, item := range page.Items {
		if item.GetKind() != "ConfigMap" || item.GetAPIVersion() != "v1" {
			t.Errorf("%s is a %q of %q", item.GetName(), item.GetKind(), item.GetAPIVersion())
		}
	}
}

func TestListOfMetadataAsksForIt(t *testing.T) {
	var accept string
	answer := replay(t, "list-metadata.http")
	client := serve(t, func(w http.ResponseWriter, req *http.Request) {
		accept = req.Header.Get("Accept")
		answer(w, req)
	})
	page, err := mustNew(t, client, Options[*metav1.PartialObjectMetadata]{}).List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	if !strings.HasPrefix(accept, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,") {
		t.Errorf("Accept is %q", accept)
	}
	if len(page.Items) != 1 || page.Items[0].Kind != "PartialObjectMetadata" || page.Items[0].Name != "a" {
		t.Errorf("items are %+v", page.Items)
	}
}

// The keys of a list of custom resources are sorted, so items come before kind
// and metadata.
func TestListWithItemsFirst(t *testing.T) {
	client := serve(t, body(`{"apiVersion":"x.io/v1","items":[{"apiVersion":"x.io/v1","kind":"W","metadata":{"name":"a"}}],"kind":"WList","metadata":{"resourceVersion":"7"}}`))
	page, err := mustNew(t, client, Options[*unstructured.Unstructured]{}).List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	if page.ResourceVersion != "7" || len(page.Items) != 1 || page.Items[0].GetKind() != "W" {
		t.Errorf("page is %+v", page)
	}
}

func TestListBodies(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		items int
		err   string // "" is no error
	}{
		"empty":                {`{"kind":"ConfigMapList","items":[]}`, 0, ""},
		"items null":           {`{"kind":"ConfigMapList","items":null}`, 0, ""},
		"items absent":         {`{"kind":"ConfigMapList"}`, 0, ""},
		"no kind but items":    {`{"items":[{"metadata":{"name":"a"}}]}`, 1, ""},
		"unknown members":      {`{"extra":{"a":[1]},"items":[],"more":2}`, 0, ""},
		"white space around":   {" \r\n{\"items\":[]}\r\n ", 0, ""},
		"a table":              {`{"kind":"Table","rows":[]}`, 0, "a Table instead of a list"},
		"a status":             {`{"kind":"Status","status":"Success"}`, 0, "a Status instead of a list"},
		"another object":       {`{"kind":"ConfigMap"}`, 0, `kind "ConfigMap" without items`},
		"an array":             {`[]`, 0, "malformed"},
		"items of wrong type":  {`{"items":{}}`, 0, "malformed"},
		"version of no string": {`{"metadata":{"resourceVersion":5}}`, 0, "resourceVersion"},
		"a byte order mark":    {"\ufeff" + `{"items":[]}`, 0, "byte order mark"},
		"compressed":           {"\x1f\x8b\x08", 0, "compressed, but has no Content-Encoding"},
		"items twice":          {`{"items":[],"metadata":{},"items":[{"metadata":{"name":"a"}}]}`, 0, "items twice"},
		"two values":           {`{"items":[]}{"items":[]}`, 0, "more follows"},
		"garbage":              {`not json`, 0, "invalid character"},
		"nothing":              {``, 0, "unexpected EOF"},
		"cut in an item":       {`{"items":[{"metadata":{"na`, 0, "unexpected EOF"},
		"cut between items":    {`{"items":[{"metadata":{"name":"a"}},`, 0, "unexpected EOF"},
		"a nul byte":           {"{\"items\":[\x00]}", 0, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := mustNew(t, serve(t, body(test.body)), Options[*configMap]{}).List(t.Context(), metav1.ListOptions{})
			if test.err == "" {
				if err != nil || len(page.Items) != test.items {
					t.Fatalf("got %+v, %v, want %d items", page, err, test.items)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) || !strings.HasPrefix(err.Error(), "list configmaps: ") {
				t.Fatalf("error is %v, want list configmaps: ... %s", err, test.err)
			}
			if cut := strings.Contains(test.err, "EOF"); source.IsMalformed(err) == cut || errors.Is(err, io.ErrUnexpectedEOF) != cut {
				t.Errorf("%v: malformed %v, cut %v", err, source.IsMalformed(err), errors.Is(err, io.ErrUnexpectedEOF))
			}
		})
	}
}

func TestListErrorsKeepTheirStatus(t *testing.T) {
	for name, is := range map[string]func(error) bool{
		"list-continue-expired.http": apierrors.IsResourceExpired,
		"list-rv-too-large.http":     apierrors.IsTimeout,
		"list-not-found.http":        apierrors.IsNotFound,
		"watch-unauthorized.http":    apierrors.IsUnauthorized,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mustNew(t, serve(t, replay(t, name)), Options[*configMap]{}).List(t.Context(), metav1.ListOptions{})
			if !is(err) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestListOfAProxysPage(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Please log in</html>")
	})
	_, err := mustNew(t, client, Options[*configMap]{}).List(t.Context(), metav1.ListOptions{})
	var content *transport.UnexpectedContentError
	if !errors.As(err, &content) || !source.IsMalformed(err) || !strings.Contains(err.Error(), "Please log in") {
		t.Errorf("error is %v, want one that quotes the page", err)
	}
}

func TestBoundedReader(t *testing.T) {
	r := &boundedReader{r: strings.NewReader("abcdef"), left: 4}
	got, err := io.ReadAll(r)
	if string(got) != "abcd" || !errors.Is(err, format.ErrObjectTooLarge) {
		t.Errorf("read %q, %v, want abcd and ErrObjectTooLarge", got, err)
	}
}
