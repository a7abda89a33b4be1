package transport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	must.OK(t, w.Close())
	return b.Bytes()
}

// serveGzip answers with bytes that are said to be compressed.
func serveGzip(t *testing.T, code int, body []byte) *Client {
	t.Helper()
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if accept := r.Header.Get("Accept-Encoding"); accept != "gzip" {
			t.Errorf("Accept-Encoding is %q", accept)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(code)
		_, _ = w.Write(body)
	})
	cfg.Gzip = new(true)
	return newTestClient(t, cfg)
}

func TestCompressedAnswer(t *testing.T) {
	text := strings.Repeat(`{"items":[]} `, 10_000)
	body := gzipped(t, text)
	read := 0
	resp, err := serveGzip(t, 200, body).Get(hook.With[hook.Read](t.Context(), func(n int) { read += n }), Request{Path: "/"})
	must.OK(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if string(got) != text || err != nil {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(text))
	}
	if read != len(body) {
		t.Errorf("%d bytes were counted, %d came", read, len(body))
	}
	if resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Content-Length") != "" {
		t.Errorf("the header still tells of %v", resp.Header)
	}
}

func TestCompressedError(t *testing.T) {
	status := `{"kind":"Status","status":"Failure","code":410,"reason":"Expired","message":"too old"}`
	_, err := serveGzip(t, 410, gzipped(t, status)).Get(t.Context(), Request{Path: "/"})
	if !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), "too old") {
		t.Errorf("error is %v", err)
	}
	_, err = serveGzip(t, 410, []byte("none")).Get(t.Context(), Request{Path: "/"})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("error is %v", err)
	}
	_, err = serveGzip(t, 202, gzipped(t, "a page")).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
	checkError(t, err, `body begins "a page"`)
}

// TestCompressedErrorIsBounded: what a few kilobytes stand for is not held.
func TestCompressedErrorIsBounded(t *testing.T) {
	client := serveGzip(t, 500, gzipped(t, strings.Repeat("\x00", 1<<23)))
	client.maxError = 1 << 10
	_, err := client.Get(t.Context(), Request{Path: "/"})
	if !apierrors.IsInternalError(err) || len(err.Error()) > 4096 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

func TestCompressionThatIsNone(t *testing.T) {
	whole := gzipped(t, strings.Repeat(`{"items":[]}`, 1000))
	torn := bytes.Clone(whole)
	torn[len(torn)-8] ^= 1
	for name, test := range map[string]struct {
		body []byte
		want string
		cut  bool
	}{
		"text":       {[]byte(strings.Repeat("x", 100)), "decompress the answer: gzip: invalid header", false},
		"checksum":   {torn, "decompress the answer: gzip: invalid checksum", false},
		"cut":        {whole[:len(whole)/2], "decompress the answer: unexpected EOF", true},
		"cut at end": {whole[:len(whole)-1], "decompress the answer: unexpected EOF", true},
	} {
		resp, err := serveGzip(t, 200, test.body).Get(t.Context(), Request{Path: "/x"})
		must.OK(t, err)
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		checkError(t, err, test.want)
		checkError(t, err, "/x: ")
		if errors.Is(err, io.ErrUnexpectedEOF) != test.cut {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "br") })
	_, err := newTestClient(t, cfg).Get(t.Context(), Request{Path: "/"})
	checkError(t, err, `Content-Encoding "br", which was not asked for`)
}

// A server may flush each event, or end a gzip file behind it, in several ways. The event comes at
// once, whatever the way: the server sends the next one when the client has the last.
func TestCompressedWatchDeliversEachEventAtOnce(t *testing.T) {
	type way struct {
		name string
		end  func(z *gzip.Writer, w io.Writer) // after an event
	}
	closed := func(z *gzip.Writer, w io.Writer) {
		_ = z.Close()
		z.Reset(w)
	}
	ways := []way{
		{"one file, flushed", func(z *gzip.Writer, _ io.Writer) { _ = z.Flush() }},
		{"a file for each, closed", closed},
		{"a file for each, flushed and closed", func(z *gzip.Writer, w io.Writer) { _ = z.Flush(); closed(z, w) }}, // kube-apiserver 1.37
		{"a file for each, and an empty one", func(z *gzip.Writer, w io.Writer) { closed(z, w); closed(z, w) }},
		{"a file for each, padded", func(z *gzip.Writer, w io.Writer) { closed(z, w); _, _ = w.Write(make([]byte, 100)) }},
	}
	for _, format := range []struct {
		frames []frames.Format
		frame  func(n int) string
	}{
		{jsonFrames, func(n int) string { return fmt.Sprintf(`{"n":%d}`, n) }},
		{protobufFrames, func(n int) string { return "\x00\x00\x00\x02" + fmt.Sprintf("%02d", n) }},
	} {
		for _, way := range ways {
			mediaType, frame := format.frames[0].StreamMediaType(), format.frame
			seen := make(chan struct{})
			cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", mediaType)
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				for n := range 20 {
					_, _ = io.WriteString(z, frame(n))
					way.end(z, w)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-seen:
					case <-r.Context().Done():
						return
					}
				}
				_ = z.Close()
			})
			s, err := newTestClient(t, cfg).Watch(t.Context(), Request{Frames: format.frames, Path: "/"})
			must.OK(t, err)
			for n := range 20 {
				got, err := s.Next()
				if err != nil || !strings.HasSuffix(frame(n), string(got.Data)) {
					t.Fatalf("%s, %s: frame %d is %q, %v", mediaType, way.name, n, got.Data, err)
				}
				seen <- struct{}{}
			}
			if _, err := s.Next(); err != io.EOF { //nolint:errorlint // the bare one is an orderly end
				t.Errorf("%s, %s: the end is %v", mediaType, way.name, err)
			}
			s.Close()
		}
	}
}

// A list may be padded, as some caches do, or be in several files.
func TestCompressedAnswerInSeveralFiles(t *testing.T) {
	body := slices.Concat(gzipped(t, `{"items":`), make([]byte, 5000), gzipped(t, ""), gzipped(t, "[]}"), make([]byte, 16))
	resp, err := serveGzip(t, 200, body).Get(t.Context(), Request{Path: "/"})
	must.OK(t, err)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); string(got) != `{"items":[]}` || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestWatchesAreCompressedOnRequest: a server may compress what nobody asked it to.
func TestWatchesAreCompressedOnRequest(t *testing.T) {
	initialEvents := url.Values{"sendInitialEvents": {"true"}}
	for _, test := range []struct {
		gzip  *bool
		query url.Values
		want  string
	}{
		{nil, nil, ""},
		{new(false), nil, ""},
		{new(true), nil, "gzip"},
		{nil, url.Values{"sendInitialEvents": {"false"}}, ""},
		{nil, initialEvents, "gzip"},
		{new(false), initialEvents, ""},
		{new(true), initialEvents, "gzip"},
	} {
		var accept string
		cfg := serve(t, func(_ http.ResponseWriter, r *http.Request) { accept = r.Header.Get("Accept-Encoding") })
		cfg.Gzip = test.gzip
		client := newTestClient(t, cfg)
		client.gets.gzip = test.gzip == nil || *test.gzip // as for a server that is elsewhere
		s, err := client.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/", Query: test.query})
		must.OK(t, err)
		s.Close()
		if accept != test.want {
			t.Errorf("%v: Accept-Encoding is %q, want %q", test.query, accept, test.want)
		}
	}
}

func TestWhenCompressionIsAskedFor(t *testing.T) {
	for _, test := range []struct {
		cfg  Config
		want bool
	}{
		{Config{Server: "https://api.example"}, true},
		{Config{Server: "https://10.0.0.1:6443/prefix"}, true},
		{Config{Server: "https://127.0.0.1:6443"}, false},
		{Config{Server: "https://[::1]:6443"}, false},
		{Config{Server: "http://localhost"}, false},
		{Config{Server: "unix:///run/api.sock"}, false},
		{Config{Server: "https://api.example", Dial: (&net.Dialer{}).DialContext}, false},
		{Config{Server: "https://api.example", RoundTripper: http.NewFileTransport(nil)}, false},
		{Config{Server: "https://api.example", Gzip: new(false)}, false},
		{Config{Server: "https://127.0.0.1:6443", Gzip: new(true)}, true},
	} {
		if got := newTestClient(t, test.cfg).gets.gzip; got != test.want {
			t.Errorf("%v: %v", test.cfg, got)
		}
	}
}
