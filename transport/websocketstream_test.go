package transport

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

func TestSocketEnds(t *testing.T) {
	tests := []struct {
		name    string
		data    []byte
		frames  int
		want    error
		wantErr string
	}{
		{"1000", slices.Concat(text("{}\n"), closing(1000, "")), 1, io.EOF, "EOF"},
		{"1000 at once", closing(1000, "bye"), 0, io.EOF, "EOF"},
		{"1001", slices.Concat(text("{}"), closing(1001, "")), 1, io.ErrUnexpectedEOF, "the WebSocket was closed with 1001 (going away)"},
		{"1011", closing(1011, "etcd"), 0, io.ErrUnexpectedEOF, `the WebSocket was closed with 1011 (internal server error): "etcd"`},
		{"no code", frame(opClose, true, ""), 0, io.ErrUnexpectedEOF, "the WebSocket was closed with 1005 (no status)"},
		{"a code of their own", closing(4999, ""), 0, io.ErrUnexpectedEOF, "the WebSocket was closed with 4999"},
		{"cut", text("{}"), 1, io.ErrUnexpectedEOF, "unexpected EOF"},
		{"cut inside a header", slices.Concat(text("{}"), []byte{0x81}), 1, io.ErrUnexpectedEOF, "unexpected EOF"},
		{"cut inside a frame", text(`{"a":1}`)[:5], 0, io.ErrUnexpectedEOF, "unexpected EOF"},
		{"cut between fragments", frame(opText, false, `{"a"`), 0, io.ErrUnexpectedEOF, "unexpected EOF"},
		{"1000 between fragments", slices.Concat(frame(opText, false, `{"a"`), closing(1000, "")), 0, io.ErrUnexpectedEOF, "closed inside a message"},
		{"a message that ends early", slices.Concat(text(`{"a":`), text("{}")), 0, io.ErrUnexpectedEOF, "the stream ends inside a frame, 5 bytes in"},
		{"no event", text("<html>"), 0, nil, `malformed frame at byte 0 of the stream: want the '{' of an event, at "<html>"`},
		{"no frame", []byte("HTTP/1.1 400 Bad Request\r\n"), 0, nil, "malformed frame at byte 0 of the stream: "},
		{"masked", []byte{0x81, 0x82, 0, 0, 0, 0, '{', '}'}, 0, nil, "bad MASK"},
		{"compressed", slices.Concat(text("{}"), []byte{0xc1, 2, '{', '}'}), 1, nil, "malformed frame at byte 2 of the stream: RSV1 set"},
		{"an impossible code", closing(1006, ""), 0, nil, "bad close code 1006"},
		{"a length that is none", []byte{0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, nil, "malformed frame"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := serveSockets(t, func(s *serverSocket) { s.send(tt.data) })
			got, err := readFrames(t, cfg)
			if len(got) != tt.frames {
				t.Errorf("frames %q, want %d", got, tt.frames)
			}
			checkError(t, err, tt.wantErr)
			if tt.want == io.EOF { //nolint:errorlint // io.EOF itself is promised
				if err != io.EOF { //nolint:errorlint // likewise
					t.Errorf("error %v, want io.EOF", err)
				}
				return
			}
			checkError(t, err, "watch "+cfg.Server+"/: ")
			var malformed *frames.Error
			if errors.Is(err, io.EOF) || errors.As(err, &malformed) != (tt.want == nil) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestSocketFragments splits a message, and what it is sent in, at each byte.
func TestSocketFragments(t *testing.T) {
	const message = `{"type":"ADDED","object":{"k":"é}"}}` + "\n"
	want := []string{strings.TrimSpace(message), `{"n":2}`}
	tail := slices.Concat(text(`{"n":2}`), closing(1000, ""))
	var each [][]byte
	for i := range len(message) {
		op := byte(opContinue)
		if i == 0 {
			op = opText
		}
		each = append(each, frame(op, i == len(message)-1, message[i:i+1]))
	}
	check := func(name string, data ...[]byte) {
		t.Helper()
		frames, err := readFrames(t, sending(t, data...))
		if diff := cmp.Diff(want, frames); diff != "" || err != io.EOF { //nolint:errorlint // io.EOF itself is promised
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
	check("a frame for each byte", append(each, tail)...)
	var between [][]byte
	for _, f := range each {
		between = append(between, f, frame(opPing, true, "p"), frame(opPong, true, ""))
	}
	check("control frames between", append(between, tail)...)
	for i := range len(message) + 1 {
		check("two frames", frame(opText, false, message[:i]), frame(opContinue, true, message[i:]), tail)
	}
	all := slices.Concat(text(message), tail)
	for i := range all {
		check("two segments", all[:i], all[i:])
	}
	check("two events in one message", text(message+`{"n":2}`), closing(1000, ""))
	check("nothing in a message", text(message), text(""), text(" \n"), tail)
	check("binary where text was asked for", frame(opBinary, true, message), tail)
}

func TestSocketGoesOnAfterAFrameThatIsTooLarge(t *testing.T) {
	large := frameOf(200_000)
	for name, data := range map[string][]byte{
		"one frame": text(large),
		"fragments": slices.Concat(frame(opText, false, large[:150_000]), frame(opPing, true, ""), frame(opContinue, true, large[150_000:])),
		"binary":    frame(opBinary, true, large),
	} {
		for _, formats := range [][]frames.Format{jsonFrames, protobufOrJSON} {
			cfg := sending(t, text(`{"n":1}`), data, text(`{"n":2}`), closing(1000, ""))
			cfg.MaxFrameBytes = 100_000
			read := 0
			s, err := newTestClient(t, cfg).Watch(hook.With[hook.Read](t.Context(), func(n int) { read += n }), Request{Frames: formats, Path: "/"})
			must.OK(t, err)
			for i, want := range []string{`{"n":1}`, "", `{"n":2}`} {
				frame, err := s.Next()
				var tooLarge *frames.TooLargeError
				if errors.As(err, &tooLarge) != (want == "") || string(frame.Data) != want {
					t.Fatalf("%s: frame %d: %q, %v", name, i, frame.Data, err)
				}
				if want == "" && (tooLarge.Offset < 7 || len(tooLarge.Head) != frames.TooLargeHead || !strings.HasPrefix(large, string(tooLarge.Head))) {
					t.Errorf("%s: offset %d, %d bytes of head", name, tooLarge.Offset, len(tooLarge.Head))
				}
			}
			if _, err := s.Next(); err != io.EOF { //nolint:errorlint // io.EOF itself is promised
				t.Errorf("%s: error %v, want io.EOF", name, err)
			}
			if want := 7 + len(large) + 7; read != want { // what is passed over is heard of the server, too
				t.Errorf("%s: %d bytes were read, want %d", name, read, want)
			}
			s.Close()
		}
	}
}

// TestSocketMediaType has the type of messages from what was asked for and from what
// comes.
func TestSocketMediaType(t *testing.T) {
	const (
		protobuf = "\x0a\x05ADDED\x12\x00"

		protobufType = "application/vnd.kubernetes.protobuf"
	)
	for _, tt := range []struct {
		formats     []frames.Format
		first, then string
		data        []byte
		frame       string
	}{
		{jsonFrames, "application/json", "application/json", text("{}\n"), "{}"},
		{protobufFrames, protobufType, protobufType, frame(opBinary, true, protobuf), protobuf},
		{protobufOrJSON, "", protobufType, frame(opBinary, true, protobuf), protobuf},
		{protobufOrJSON, "", "application/json", text("{}\n"), "{}"},
	} {
		s, err := newTestClient(t, sending(t, tt.data, closing(1000, ""))).Watch(t.Context(), Request{Frames: tt.formats, Path: "/"})
		must.OK(t, err)
		before := s.MediaType()
		f, err := s.Next()
		if before != tt.first || s.MediaType() != tt.then || err != nil || string(f.Data) != tt.frame {
			t.Errorf("%d formats: %q, then %q with %q, %v", len(tt.formats), before, s.MediaType(), f.Data, err)
		}
		s.Close()
	}
}

// TestSocketOfCapturedBytes reads what a kube-apiserver sent.
func TestSocketOfCapturedBytes(t *testing.T) {
	capture, err := os.ReadFile("../testdata/captures/watch-websocket-handshake.http")
	must.OK(t, err)
	_, frames, _ := bytes.Cut(capture, []byte("\r\n\r\n"))
	got, err := readFrames(t, sending(t, frames))
	if err != io.EOF { //nolint:errorlint // io.EOF itself is promised
		t.Errorf("error %v, want io.EOF", err)
	}
	if len(got) != 5 {
		t.Fatalf("%d frames, want 5: %q", len(got), got)
	}
	for _, f := range got {
		if !strings.HasPrefix(f, `{"type":"ADDED","object":{"kind":"ConfigMap",`) || !strings.HasSuffix(f, "}}") {
			t.Errorf("frame %q", f)
		}
	}
}

func TestSocketNextEndsWithItsContextOrClose(t *testing.T) {
	checkEndings(t, serveSockets(t, func(s *serverSocket) {
		s.send(text(`{"n":1}`))
		s.drain()
	}))
}

func TestReadHookSeesMessagesOnly(t *testing.T) {
	const half = `{"type":"ADDED",`
	cfg := serveSockets(t, func(s *serverSocket) {
		s.send(frame(opPing, true, "ping"), frame(opText, false, half))
		s.drain()
	})
	read := make(chan int, 10)
	stream, err := newTestClient(t, cfg).Watch(hook.With[hook.Read](t.Context(), func(n int) { read <- n }), Request{Frames: jsonFrames, Path: "/"})
	must.OK(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := stream.Next()
		done <- err
	}()
	if n := <-read; n != len(half) {
		t.Errorf("the hook was told of %d bytes, want %d", n, len(half))
	}
	stream.Close()
	if err := <-done; !errors.Is(err, errClosed) {
		t.Errorf("error %v, want errClosed", err)
	}
}
