package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// result is what a stream was cut into, and how it ended.
type result struct {
	Frames []string // a frame that was too large is "too large at OFFSET"
	End    string
}

// cutAll reads a stream to its end. It keeps copies: Data is valid until the next
// call only.
func cutAll(r io.Reader, limit int) result { return collect(newFrameReader(r, limit).next) }

func collect(next func() ([]byte, error)) result {
	var got result
	for {
		data, err := next()
		var large *FrameTooLargeError
		var malformed *FrameError
		switch {
		case err == nil:
			got.Frames = append(got.Frames, string(data))
			continue
		case errors.As(err, &large):
			got.Frames = append(got.Frames, fmt.Sprintf("too large at %d", large.Offset))
			continue
		case errors.As(err, &malformed):
			got.End = fmt.Sprintf("malformed at %d: %s", malformed.Offset, malformed.Reason)
		case errors.Is(err, io.ErrUnexpectedEOF):
			got.End = "unexpected EOF"
		default:
			got.End = err.Error()
		}
		if _, again := next(); !errors.Is(again, err) {
			got.End += fmt.Sprintf("; and then %v", again)
		}
		return got
	}
}

// pieces is a reader that returns its pieces one by one.
func pieces(parts ...[]byte) io.Reader {
	readers := make([]io.Reader, len(parts))
	for i, p := range parts {
		readers[i] = bytes.NewReader(p)
	}
	return io.MultiReader(readers...)
}

// capturedBody returns the body, without chunk framing, of a response that a
// kube-apiserver sent.
func capturedBody(t testing.TB, path string) []byte {
	t.Helper()
	return capturedResponse(t, path).body
}

type captured struct {
	*http.Response
	raw  []byte // from the status line on
	body []byte
}

func capturedResponse(t testing.TB, path string) captured {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Lines that begin with "> " tell the request.
	start := bytes.Index(data, []byte("HTTP/1.1 "))
	if start < 0 {
		t.Fatalf("%s: no status line", path)
	}
	raw := data[start:]
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	// The files end with a newline of their own.
	raw = bytes.TrimSuffix(raw, []byte("\r\n\n"))
	if len(raw) < len(data)-start {
		raw = append(raw, "\r\n"...)
	}
	if resp.ContentLength >= 0 {
		raw = raw[:bytes.Index(raw, []byte("\r\n\r\n"))+4+len(body)]
	}
	return captured{resp, raw, body}
}

func TestFramesOfCapturedStreamsSplitAnywhere(t *testing.T) {
	paths, err := filepath.Glob("../testdata/captures/watch-*.http")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, path := range paths {
		if strings.Contains(path, "websocket") {
			continue // a framing of its own
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			body := capturedBody(t, path)
			var want result
			want.End = "EOF"
			for line := range strings.Lines(string(body)) {
				if line = strings.TrimSpace(line); line != "" {
					want.Frames = append(want.Frames, line)
				}
			}
			for at := range len(body) + 1 {
				if diff := cmp.Diff(want, cutAll(pieces(body[:at], body[at:]), 0)); diff != "" {
					t.Fatalf("split at byte %d (-want +got):\n%s", at, diff)
				}
			}
			if diff := cmp.Diff(want, cutAll(iotest.OneByteReader(bytes.NewReader(body)), 0)); diff != "" {
				t.Fatalf("byte by byte (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, cutAll(iotest.DataErrReader(bytes.NewReader(body)), 0)); diff != "" {
				t.Fatalf("the end together with the last byte (-want +got):\n%s", diff)
			}
			tried += len(want.Frames)
		})
	}
	if tried < 20 {
		t.Fatalf("only %d frames in %d captures", tried, len(paths))
	}
}

func TestFrames(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2)
	}
	tests := []struct {
		name  string
		in    string
		limit int
		want  result
	}{
		{"empty stream", "", 0, result{nil, "EOF"}},
		{"white space only", " \r\n\t\n", 0, result{nil, "EOF"}},
		{"no white space between", `{}{"a":1}{}`, 0, result{[]string{`{}`, `{"a":1}`, `{}`}, "EOF"}},
		{"CRLF between", "{}\r\n{}\r\n", 0, result{[]string{`{}`, `{}`}, "EOF"}},
		{"pretty printed", "{\n  \"a\": [\n 1 ]\n}\n{}", 0, result{[]string{"{\n  \"a\": [\n 1 ]\n}", `{}`}, "EOF"}},
		{"braces in strings", `{"}{[]":"}}"}{}`, 0, result{[]string{`{"}{[]":"}}"}`, `{}`}, "EOF"}},
		{"escaped quotes", `{"a":"\"}\\\"}","b":"\\"}{}`, 0, result{[]string{`{"a":"\"}\\\"}","b":"\\"}`, `{}`}, "EOF"}},
		{"long strings", `{"a":"` + strings.Repeat(`\\`, 50) + strings.Repeat("x", 99) + `\""}{}`, 0, result{[]string{`{"a":"` + strings.Repeat(`\\`, 50) + strings.Repeat("x", 99) + `\""}`, `{}`}, "EOF"}},
		{"UTF-8", `{"a":"é日本𝄞"}`, 0, result{[]string{`{"a":"é日本𝄞"}`}, "EOF"}},
		{"what only the decoder can refuse", `{"a" "b",,}` + "{\"\xff\":\"\n\"}", 0, result{[]string{`{"a" "b",,}`, "{\"\xff\":\"\n\"}"}, "EOF"}},
		{"as deep as may be", deep(maxDepth), 0, result{[]string{deep(maxDepth)}, "EOF"}},
		{"too deep", `{}` + deep(maxDepth+2), 0, result{[]string{`{}`}, fmt.Sprintf("malformed at %d: nested deeper than 10000", 2+maxDepth/2*6)}},

		{"end in a frame", `{}{"a":`, 0, result{[]string{`{}`}, "unexpected EOF"}},
		{"end in a string", `{"a`, 0, result{nil, "unexpected EOF"}},
		{"end after a backslash", `{"a\`, 0, result{nil, "unexpected EOF"}},

		{"HTML", "<html>", 0, result{nil, "malformed at 0: want the '{' of an event"}},
		{"array", `[{}]`, 0, result{nil, "malformed at 0: want the '{' of an event"}},
		{"text after a frame", `{} x`, 0, result{[]string{`{}`}, "malformed at 3: want the '{' of an event"}},
		{"closed too often", `{}}`, 0, result{[]string{`{}`}, "malformed at 2: want the '{' of an event"}},
		{"brace closes bracket", `{"a":[}`, 0, result{nil, "malformed at 6: '}' closes what '[' opened"}},
		{"bracket closes brace", `{"a":{]`, 0, result{nil, "malformed at 6: ']' closes what '{' opened"}},
		{"NUL between", "{}\x00{}", 0, result{[]string{`{}`}, "malformed at 2: want the '{' of an event"}},
		{"NUL inside", "{}{\x00}", 0, result{[]string{`{}`}, "malformed at 3: NUL byte"}},
		{"NUL in a string", "{}{\"a\x00\":1}", 0, result{[]string{`{}`}, "malformed at 5: NUL byte"}},
		{"byte order mark", "\ufeff{}", 0, result{nil, "malformed at 0: want the '{' of an event"}},
		{"length-prefixed", "\x00\x00\x01\x05{}", 0, result{nil, "malformed at 0: want the '{' of an event"}},

		{"at the limit", `{"a":12}{}`, 8, result{[]string{`{"a":12}`, `{}`}, "EOF"}},
		{"over the limit", `{}{"a":123}` + "\n" + `{"b":1}`, 8, result{[]string{`{}`, "too large at 2", `{"b":1}`}, "EOF"}},
		{"far over the limit", `{}{"a":"}` + strings.Repeat(`\"`, 99) + `"}{"b":1}`, 8, result{[]string{`{}`, "too large at 2", `{"b":1}`}, "EOF"}},
		{"over the limit, twice", `{"a":1234}{"a":1234}{}`, 8, result{[]string{"too large at 0", "too large at 10", `{}`}, "EOF"}},
		{"over the limit, and cut", `{"a":1234`, 8, result{[]string{"too large at 0"}, "unexpected EOF"}},
		{"over the limit, then malformed", `{"a":1234]`, 8, result{[]string{"too large at 0"}, "malformed at 9: ']' closes what '{' opened"}},
		{"malformed within the limit", `{"a":]1234`, 8, result{nil, "malformed at 5: ']' closes what '{' opened"}},
		{"white space is not counted", strings.Repeat(" ", 99) + `{"a":12}`, 8, result{[]string{`{"a":12}`}, "EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			if diff := cmp.Diff(tt.want, cutAll(bytes.NewReader(in), tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, cutAll(iotest.OneByteReader(bytes.NewReader(in)), tt.limit)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
			for at := 0; at <= len(in) && len(in) < 1000; at++ {
				if diff := cmp.Diff(tt.want, cutAll(pieces(in[:at], in[at:]), tt.limit)); diff != "" {
					t.Fatalf("split at byte %d (-want +got):\n%s", at, diff)
				}
			}
		})
	}
}

// frameOf returns an object of exactly size bytes, 8 or more.
func frameOf(size int) string {
	return `{"a":"` + strings.Repeat("x", size-8) + `"}`
}

func TestFrameSizesAroundBuffersAndLimit(t *testing.T) {
	const limit = 100_000
	sizes := []int{8, 9, 10, 1023, 1024, 1025, 4095, 4096, 4097, limit - 1, limit, limit + 1, 3 * limit}
	for _, edge := range []int{minBuffer, 2 * minBuffer, keepBuffer, 2 * keepBuffer} {
		sizes = append(sizes, edge-1, edge, edge+1)
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			big := frameOf(size)
			want := result{[]string{`{"before":1}`, big, `{"after":1}`}, "EOF"}
			if size > limit {
				want.Frames[1] = "too large at 13"
			}
			in := `{"before":1}` + "\n" + big + "\n" + `{"after":1}`
			if !cmp.Equal(want, cutAll(strings.NewReader(in), limit)) {
				t.Error("whole: not the same frames")
			}
			if !cmp.Equal(want, cutAll(iotest.HalfReader(strings.NewReader(in)), limit)) {
				t.Error("in halves: not the same frames")
			}
			if !cmp.Equal(want, cutAll(iotest.OneByteReader(strings.NewReader(in)), limit)) {
				t.Error("byte by byte: not the same frames")
			}
		})
	}
}

func TestFrameTooLargeQuotesItsBeginning(t *testing.T) {
	f := newFrameReader(strings.NewReader(frameOf(9000)), 5000)
	_, err := f.next()
	var large *FrameTooLargeError
	if !errors.As(err, &large) {
		t.Fatalf("error is %v, want a FrameTooLargeError", err)
	}
	if large.Limit != 5000 || string(large.Head) != frameOf(9000)[:frameTooLargeHead] {
		t.Errorf("limit %d, %d bytes of head", large.Limit, len(large.Head))
	}
	if want := "frame at byte 0 of the stream is larger than 5000 bytes (Config.MaxFrameBytes)"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestFrameErrorQuotesWhatIsThere(t *testing.T) {
	_, err := newFrameReader(strings.NewReader("{}\n<html>"+strings.Repeat("x", 99)), 0).next()
	if err != nil {
		t.Fatal(err)
	}
	f := newFrameReader(strings.NewReader("\n<html>"+strings.Repeat("x", 99)), 0)
	_, err = f.next()
	want := `malformed frame at byte 1 of the stream: want the '{' of an event, at "<html>` + strings.Repeat("x", frameErrorHead-6) + `"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

// reader is a function that reads.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func TestFrameIsReturnedBeforeMoreIsRead(t *testing.T) {
	reads := 0
	f := newFrameReader(reader(func(p []byte) (int, error) {
		reads++
		return copy(p, "{}\n{}"), nil // the second is complete too
	}), 0)
	for want := range 10 {
		if _, err := f.next(); err != nil {
			t.Fatal(err)
		}
		if reads != want/2+1 {
			t.Fatalf("%d reads for %d frames, two in each", reads, want+1)
		}
	}
}

func TestFramesBeforeAnErrorAreReturnedFirst(t *testing.T) {
	broken := errors.New("broken")
	f := newFrameReader(reader(func(p []byte) (int, error) { return copy(p, "{}{}{"), broken }), 0)
	for range 2 {
		if data, err := f.next(); err != nil || string(data) != "{}" {
			t.Fatalf("got %q, %v", data, err)
		}
	}
	for range 2 {
		if _, err := f.next(); !errors.Is(err, broken) {
			t.Fatalf("error %v, want the reader's", err)
		}
	}
}

func TestFrameReaderGivesUpOnAReaderThatReturnsNothing(t *testing.T) {
	f := newFrameReader(reader(func([]byte) (int, error) { return 0, nil }), 0)
	if _, err := f.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Fatalf("error %v, want io.ErrNoProgress", err)
	}
}

// TestFrameBufferShrinks reads one frame of 10 MB and small ones around it. What the
// buffer holds while the stream waits for more is what a quiet watch costs.
func TestFrameBufferShrinks(t *testing.T) {
	small := frameOf(500) + "\n"
	parts := [][]byte{[]byte(small), []byte(frameOf(10<<20) + "\n"), []byte(small), []byte(small)}
	var f *frameReader
	var waiting []int
	in := pieces(parts...)
	f = newFrameReader(reader(func(p []byte) (int, error) {
		waiting = append(waiting, cap(f.buf))
		return in.Read(p)
	}), 0)
	for range parts {
		if _, err := f.next(); err != nil {
			t.Fatal(err)
		}
	}
	if largest := slices.Max(waiting); largest < 10<<20 {
		t.Fatalf("the buffer was never larger than %d bytes", largest)
	}
	if last := waiting[len(waiting)-1]; last > minBuffer {
		t.Errorf("the buffer holds %d bytes after the large frame, want %d", last, minBuffer)
	}
}

func TestFrameBufferDoesNotGrowBeyondTheLimit(t *testing.T) {
	const limit = 100_000
	f := newFrameReader(strings.NewReader(frameOf(10*limit)+"{}"), limit)
	if _, err := f.next(); err == nil {
		t.Fatal("no error")
	}
	if cap(f.buf) > limit+1 {
		t.Errorf("the buffer grew to %d bytes, with a limit of %d", cap(f.buf), limit)
	}
}

func TestFramesDoNotAllocate(t *testing.T) {
	stream, frames := podEvents(t)
	in := bytes.NewReader(stream)
	f := newFrameReader(in, 0)
	allocs := testing.AllocsPerRun(10, func() {
		in.Reset(stream)
		f.readErr, f.err = nil, nil
		for range frames {
			if _, err := f.next(); err != nil {
				t.Fatal(err)
			}
		}
	})
	// What goroutines of other tests allocate meanwhile is counted too.
	if allocs > float64(frames)/4 {
		t.Errorf("%v allocations for %d frames", allocs, frames)
	}
}
