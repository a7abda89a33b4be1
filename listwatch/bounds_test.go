package listwatch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// neverEnds answers with head, and then with more until the client closes the body. It reports how
// many bytes of the answer the client took, counted before compression. The body is a pipe, because
// a connection would take bytes that the client does not.
type neverEnds struct {
	head, more string
	compressed bool
	taken      chan<- int
}

func (s neverEnds) RoundTrip(req *http.Request) (*http.Response, error) {
	body, to := io.Pipe()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: req}
	head, more := []byte(s.head), bytes.Repeat([]byte(s.more), 64<<10)
	n, each := len(head), len(more)
	if s.compressed {
		resp.Header.Set("Content-Encoding", "gzip")
		head, more = zip(head), zip(more)
	}
	go func() {
		_, err := to.Write(head)
		for ; err == nil; n += each {
			_, err = to.Write(more)
		}
		s.taken <- n
	}()
	return resp, nil
}

// zip compresses a text to what can be followed by other texts that are compressed.
func zip(text []byte) []byte {
	var out bytes.Buffer
	to := gzip.NewWriter(&out)
	_, _ = to.Write(text)
	_ = to.Close()
	return out.Bytes()
}

func (s neverEnds) client(t *testing.T) *transport.Client {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: "http://127.0.0.1", RoundTripper: s})
	must.OK(t, err)
	t.Cleanup(client.Close)
	return client
}

// No matter which part of a list is too long, the client reads no more than the bound of one
// object, or between two objects.
func TestListThatNeverEndsIsGivenUp(t *testing.T) {
	const list = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`
	const item = list + `{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"data":{"v":`
	t.Run("a text", func(t *testing.T) { giveUpList[*configMap](t, item+`"`, "x", false) })
	t.Run("a text, compressed", func(t *testing.T) { giveUpList[*unstructured.Unstructured](t, item+`"`, "x", true) })
	t.Run("a number", func(t *testing.T) { giveUpList[*configMap](t, item, "1", false) })
	t.Run("arrays in arrays", func(t *testing.T) { giveUpList[*unstructured.Unstructured](t, item, "[", false) })
	t.Run("spaces, compressed", func(t *testing.T) { giveUpList[*configMap](t, list, " ", true) })
	t.Run("a token to continue with", func(t *testing.T) {
		giveUpList[*configMap](t, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"`, "x", false)
	})
}

func giveUpList[T object.Object](t *testing.T, head, more string, compressed bool) {
	taken := make(chan int, 1)
	page, err := mustNew(t, neverEnds{head, more, compressed, taken}.client(t), Options[T]{}).List(t.Context(), metav1.ListOptions{})
	if !errors.Is(err, format.ErrObjectTooLarge) && !strings.Contains(errText(err), "depth") {
		t.Errorf("the list is %v, %.200v", page, err)
	}
	if n := len(errText(err)); n > 1000 {
		t.Errorf("the error has %d bytes", n)
	}
	if n := <-taken; n > 2*format.MaxObjectBytes {
		t.Errorf("%d MiB were taken, want %d at most", n>>20, 2*format.MaxObjectBytes>>20)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Get reads no more of an object than the bound.
func TestObjectThatNeverEndsIsGivenUp(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		taken := make(chan int, 1)
		client := neverEnds{`{"metadata":{"name":"a"},"data":{"v":"`, "x", compressed, taken}.client(t)
		_, _, err := mustNew(t, client, Options[*configMap]{}).Get(t.Context(), "default/a")
		if !errors.Is(err, format.ErrObjectTooLarge) {
			t.Errorf("compressed %v: %.200v", compressed, err)
		}
		if n := <-taken; n > 2*format.MaxObjectBytes {
			t.Errorf("%d MiB were taken", n>>20)
		}
	}
}
