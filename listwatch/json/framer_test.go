package json

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/framestest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

func cut(r io.Reader, limit int) framestest.Result {
	return framestest.Cut(Format{}.NewFramer(), r, limit)
}

// capturedBody returns the body, without chunk framing, of a response that a
// kube-apiserver sent.
func capturedBody(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must.OK(t, err)
	// Lines that begin with "> " are the request.
	start := bytes.Index(data, []byte("HTTP/1.1 "))
	if start < 0 {
		t.Fatalf("%s: no status line", path)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data[start:])), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return body
}

func TestFramesOfCapturedStreams(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/captures/watch-*.http")
	must.OK(t, err)
	tried := 0
	for _, path := range paths {
		if strings.Contains(path, "websocket") {
			continue // a framing of its own
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			body := capturedBody(t, path)
			want := framestest.Result{End: "EOF"}
			for line := range strings.Lines(string(body)) {
				if line = strings.TrimSpace(line); line != "" {
					want.Frames = append(want.Frames, line)
				}
			}
			if diff := cmp.Diff(want, framestest.Test(t, Format{}.NewFramer, body, 0)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			tried += len(want.Frames)
		})
	}
	if tried < 20 {
		t.Fatalf("only %d frames in %d captures", tried, len(paths))
	}
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		limit int
		want  framestest.Result
	}{
		{"empty stream", "", 0, framestest.Result{Frames: nil, End: "EOF"}},
		{"white space only", " \r\n\t\n", 0, framestest.Result{Frames: nil, End: "EOF"}},
		{"no white space between", `{}{"a":1}{}`, 0, framestest.Result{Frames: []string{`{}`, `{"a":1}`, `{}`}, End: "EOF"}},
		{"CRLF between", "{}\r\n{}\r\n", 0, framestest.Result{Frames: []string{`{}`, `{}`}, End: "EOF"}},
		{"pretty printed", "{\n  \"a\": [\n 1 ]\n}\n{}", 0, framestest.Result{Frames: []string{"{\n  \"a\": [\n 1 ]\n}", `{}`}, End: "EOF"}},
		{"braces in strings", `{"}{[]":"}}"}{}`, 0, framestest.Result{Frames: []string{`{"}{[]":"}}"}`, `{}`}, End: "EOF"}},
		{"escaped quotes", `{"a":"\"}\\\"}","b":"\\"}{}`, 0, framestest.Result{Frames: []string{`{"a":"\"}\\\"}","b":"\\"}`, `{}`}, End: "EOF"}},
		{"long strings", `{"a":"` + strings.Repeat(`\\`, 50) + strings.Repeat("x", 99) + `\""}{}`, 0, framestest.Result{Frames: []string{`{"a":"` + strings.Repeat(`\\`, 50) + strings.Repeat("x", 99) + `\""}`, `{}`}, End: "EOF"}},
		{"UTF-8", `{"a":"é日本𝄞"}`, 0, framestest.Result{Frames: []string{`{"a":"é日本𝄞"}`}, End: "EOF"}},
		{"what only the decoder can refuse", `{"a" "b",,}` + "{\"\xff\":\"\n\"}", 0, framestest.Result{Frames: []string{`{"a" "b",,}`, "{\"\xff\":\"\n\"}"}, End: "EOF"}},

		{"end in a frame", `{}{"a":`, 0, framestest.Result{Frames: []string{`{}`}, End: "unexpected EOF"}},
		{"end in a string", `{"a`, 0, framestest.Result{Frames: nil, End: "unexpected EOF"}},
		{"end after a backslash", `{"a\`, 0, framestest.Result{Frames: nil, End: "unexpected EOF"}},

		{"HTML", "<html>", 0, framestest.Result{Frames: nil, End: "malformed at 0: want the '{' of an event"}},
		{"array", `[{}]`, 0, framestest.Result{Frames: nil, End: "malformed at 0: want the '{' of an event"}},
		{"text after a frame", `{} x`, 0, framestest.Result{Frames: []string{`{}`}, End: "malformed at 3: want the '{' of an event"}},
		{"closed too often", `{}}`, 0, framestest.Result{Frames: []string{`{}`}, End: "malformed at 2: want the '{' of an event"}},
		{"brace closes bracket", `{"a":[}`, 0, framestest.Result{Frames: nil, End: "malformed at 6: '}' closes what '[' opened"}},
		{"bracket closes brace", `{"a":{]`, 0, framestest.Result{Frames: nil, End: "malformed at 6: ']' closes what '{' opened"}},
		{"NUL between", "{}\x00{}", 0, framestest.Result{Frames: []string{`{}`}, End: "malformed at 2: want the '{' of an event"}},
		{"NUL inside", "{}{\x00}", 0, framestest.Result{Frames: []string{`{}`}, End: "malformed at 3: NUL byte"}},
		{"NUL in a string", "{}{\"a\x00\":1}", 0, framestest.Result{Frames: []string{`{}`}, End: "malformed at 5: NUL byte"}},
		{"byte order mark", "\ufeff{}", 0, framestest.Result{Frames: nil, End: "malformed at 0: want the '{' of an event"}},
		{"length-prefixed", "\x00\x00\x01\x05{}", 0, framestest.Result{Frames: nil, End: "malformed at 0: want the '{' of an event"}},

		{"at the limit", `{"a":12}{}`, 8, framestest.Result{Frames: []string{`{"a":12}`, `{}`}, End: "EOF"}},
		{"over the limit", `{}{"a":123}` + "\n" + `{"b":1}`, 8, framestest.Result{Frames: []string{`{}`, "too large at 2", `{"b":1}`}, End: "EOF"}},
		{"far over the limit", `{}{"a":"}` + strings.Repeat(`\"`, 99) + `"}{"b":1}`, 8, framestest.Result{Frames: []string{`{}`, "too large at 2", `{"b":1}`}, End: "EOF"}},
		{"over the limit, twice", `{"a":1234}{"a":1234}{}`, 8, framestest.Result{Frames: []string{"too large at 0", "too large at 10", `{}`}, End: "EOF"}},
		{"over the limit, and cut", `{"a":1234`, 8, framestest.Result{Frames: []string{"too large at 0"}, End: "unexpected EOF"}},
		{"over the limit, then malformed", `{"a":1234]`, 8, framestest.Result{Frames: []string{"too large at 0"}, End: "malformed at 9: ']' closes what '{' opened"}},
		{"malformed within the limit", `{"a":]1234`, 8, framestest.Result{Frames: nil, End: "malformed at 5: ']' closes what '{' opened"}},
		{"white space is not counted", strings.Repeat(" ", 99) + `{"a":12}`, 8, framestest.Result{Frames: []string{`{"a":12}`}, End: "EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, framestest.Test(t, Format{}.NewFramer, []byte(tt.in), tt.limit)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A frame may be nested more deeply than a decoder goes.
// TestReadyChangesNothing: a question whether a frame is there, where the bytes so far end with a
// backslash, does not change what the next byte means.
func TestReadyChangesNothing(t *testing.T) {
	want := []string{`{"a":1}`, `{"b":"x\"} \\"}`, `{"c":2}`}
	stream := strings.Join(want, "")
	for cut := range len(stream) {
		r := frames.NewReader(io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:])), Format{}.NewFramer(), 0, nil)
		for _, want := range want {
			r.Ready()
			if data, err := r.Next(); err != nil || string(data) != want {
				t.Errorf("%q, %q: a frame is %s, %v, want %s", stream[:cut], stream[cut:], data, err, want)
			}
		}
	}
}

func TestDeepFrames(t *testing.T) {
	for _, levels := range []int{maxDepth, maxDepth + 128} {
		deep := strings.Repeat(`{"a":[`, levels/2) + strings.Repeat(`]}`, levels/2)
		want := framestest.Result{Frames: []string{deep, `{}`}, End: "EOF"}
		if diff := cmp.Diff(want, framestest.TestSplit(t, Format{}.NewFramer, []byte(deep+`{}`), 3*levels, 0)); diff != "" {
			t.Errorf("%d levels (-want +got):\n%s", levels, diff)
		}
	}
}

// FuzzFrames reads any bytes whole and in pieces. Both must give the same frames
// and the same error. If the json/v2 decoder reads the bytes as a sequence of
// objects, the frames must be those objects.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{}`, "{}\r\n{\"a\":[1,{}]} ", `{"a":"\\\"}{"}`, "{\x00}", `{"a":[}`, `{"a":1234}{}`, "[]", "\ufeff{}", `{"\`,
	} {
		f.Add([]byte(seed), uint8(3), uint8(0))
		f.Add([]byte(seed), uint8(1), uint8(5))
	}
	paths, err := filepath.Glob("../../testdata/captures/watch-[lrs]*.http")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		f.Add(capturedBody(f, path), uint8(7), uint8(200))
	}
	f.Fuzz(func(t *testing.T, in []byte, at, limit uint8) {
		framestest.TestSplit(t, Format{}.NewFramer, in, int(at), int(limit))
		if want, ok := decodeAll(in); ok {
			got := cut(bytes.NewReader(in), 0)
			if diff := cmp.Diff(framestest.Result{Frames: want, End: "EOF"}, got); diff != "" {
				t.Errorf("(-jsontext +frames):\n%s", diff)
			}
		}
	})
}

// decodeAll splits in with a decoder that checks the whole grammar. ok is true if
// in is a sequence of objects.
func decodeAll(in []byte) (objects []string, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(in), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		value, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			return objects, true
		}
		if err != nil || value.Kind() != '{' {
			return nil, false
		}
		objects = append(objects, string(value))
	}
}
