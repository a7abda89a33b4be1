package relay

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relist-go/relist/transport/discovery"
)

// TestNegotiate has the form in which a list is answered from the cache. "" is for what the API
// server has to answer, or to refuse.
func TestNegotiate(t *testing.T) {
	const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	for accept, want := range map[string]string{
		"":                                   "object",
		"application/json":                   "object",
		"*/*":                                "object",
		"application/*":                      "",
		"APPLICATION/JSON":                   "",
		"text/html":                          "",
		"text/html, */*;q=0.1":               "object",
		"application/yaml, application/json": "",
		"application/yaml;q=0.5, application/json":                      "object",
		"application/json;q=0, application/yaml":                        "",
		"application/json;charset=utf-8;pretty=1":                       "object",
		"application/json;stream=watch":                                 "object",
		"application/json;stream=x":                                     "",
		"application/json;v=v1":                                         "",
		"application/json;as=Nope;g=x;v=v1,application/json":            "object",
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json": "",
		metadata: "metadata v1",
		"application/json; as=PartialObjectMetadataList; g=meta.k8s.io; v=v1beta1":                "metadata v1beta1",
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json":           "",
		metadata + ";q=0.1,application/json;q=0.9":                                                "object",
		"application/json;q=0.1," + metadata + ";q=0.9":                                           "metadata v1",
		"application/vnd.kubernetes.protobuf,application/json":                                    "object",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1," + metadata:       "metadata v1",
		"application/vnd.kubernetes.protobuf":                                                     "",
		"application/cbor, application/json;q=0.9, application/yaml;q=0.8, application/xml;q=0.7": "object",
	} { // each by itself
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		req.Header.Set("Accept", accept)
		got := ""
		if f := negotiate(req, &upstream{Resource: discovery.Resource{Kind: "Pod"}}, "list"); f != nil {
			got = f.ID()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
}

// TestGzip shows that a long answer is compressed for who takes gzip, and that a watch never is.
func TestGzip(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		big := strings.Repeat("x", 100<<10)
		for _, name := range []string{"a", "b"} {
			object := map[string]any{"metadata": map[string]any{"name": name, "namespace": "shop", "annotations": map[string]any{"big": big}}}
			if _, err := r.server.Create("pods", object); err != nil {
				r.Fatal(err)
			}
		}
		for _, tt := range []struct {
			path, encoding string
			compressed     bool
		}{
			{"/api/v1/pods?resourceVersion=3", "gzip", true},
			{"/api/v1/pods?resourceVersion=3", "br, gzip ,deflate", true},
			{"/api/v1/pods?resourceVersion=3", "identity", false},
			{"/api/v1/pods?resourceVersion=3", "gzip;q=0", false},
			{"/api/v1/pods?resourceVersion=3&fieldSelector=metadata.name%3Da", "gzip", false},
			{"/api/v1/namespaces/shop/pods/a?resourceVersion=3", "gzip", false},
			{"/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=1", "gzip", false},
		} {
			got := r.as("GET", tt.path, "Accept-Encoding: "+tt.encoding)
			want := r.as("GET", tt.path, "Accept-Encoding: identity").body
			if tt.compressed {
				plain, err := gzip.NewReader(strings.NewReader(got.body))
				if err != nil || got.header.Get("Vary") != "Accept-Encoding" {
					t.Fatal(err, got.header)
				}
				text, err := io.ReadAll(plain)
				if err != nil || len(got.body) > len(want)/100 {
					t.Errorf("%s: %d bytes of %d, %v", tt.path, len(got.body), len(want), err)
				}
				got.body = string(text)
			}
			if got.body != want || len(want) < 100<<10 || (got.header.Get("Content-Encoding") == "gzip") != tt.compressed {
				t.Errorf("%s as %q: %d bytes, want %d, compressed: %v; %v", tt.path, tt.encoding, len(got.body), len(want), tt.compressed, got.header)
			}
		}
	})
}

// TestGzipOfMany shows that few answers are compressed at a time, and the others sent as they are.
func TestGzipOfMany(t *testing.T) {
	t.Parallel()
	play(t, Options{}, func(r *rig) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		req.Header.Set("Accept-Encoding", "gzip")
		begin := func() (*reply, bool) {
			out := r.relay.newReply(httptest.NewRecorder(), req)
			_, _ = out.Write(make([]byte, gzipFrom+1)) // a recorder takes all
			return out, out.Header().Get("Content-Encoding") == "gzip"
		}
		var answers []*reply
		for i := range 2 * maxGzip {
			out, compressed := begin()
			if compressed != (i < maxGzip) {
				t.Errorf("answer %d: compressed %v", i, compressed)
			}
			answers = append(answers, out)
		}
		for _, out := range answers {
			out.finish()
		}
		if _, compressed := begin(); !compressed {
			t.Error("an answer after them is not compressed")
		}
	})
}
