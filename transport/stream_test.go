package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

// holdOpen sends frames and then nothing until the client goes.
func holdOpen(frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeFrames(w, frames...)
		<-r.Context().Done()
	}
}

func TestNextEndsWithItsContextOrClose(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			checkEndings(t, w.serve(t, holdOpen(`{"n":1}`)))
		})
	}
}

// checkEndings has a stream that brings one frame and no more ended by its context and
// by Close, and looks at what Next says of it.
func checkEndings(t *testing.T, cfg Config) {
	t.Helper()
	c := newTestClient(t, cfg)
	why := errors.New("enough")
	for name, end := range map[string]struct {
		end  func(Stream, context.CancelCauseFunc)
		want []error
	}{
		"cancel":            {func(_ Stream, cancel context.CancelCauseFunc) { cancel(nil) }, []error{context.Canceled}},
		"cancel with cause": {func(_ Stream, cancel context.CancelCauseFunc) { cancel(why) }, []error{context.Canceled, why}},
		"close":             {func(s Stream, _ context.CancelCauseFunc) { s.Close(); s.Close() }, []error{errClosed}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s, err := c.Watch(ctx, Request{Frames: jsonFrames, Path: "/", Query: url.Values{"watch": {"true"}}})
		must.OK(t, err)
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			end.end(s, cancel) // while Next waits, or just before
		}()
		for range 2 {
			_, err := s.Next()
			for _, want := range end.want {
				if !errors.Is(err, want) {
					t.Errorf("%s: error %v, want %v", name, err, want)
				}
			}
			checkError(t, err, "watch "+cfg.Server+"/: ")
		}
		<-ended
		s.Close()
		cancel(nil)
	}
}

// TestFramesArriveAtOnce holds back everything after the last byte of a frame, its
// newline too.
func TestFramesArriveAtOnce(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			next := make(chan string)
			c := newTestClient(t, w.serve(t, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				for part := range next {
					_, _ = io.WriteString(rw, part)
					_ = http.NewResponseController(rw).Flush()
				}
			}))
			go func() { next <- `{"a":1}` }()
			s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
			must.OK(t, err)
			defer s.Close()
			for _, want := range []string{`{"a":1}`, `{"b":"}"}`, `{}`} {
				if frame, err := s.Next(); err != nil || string(frame.Data) != want {
					t.Fatalf("got %q, %v, want %s", frame.Data, err, want)
				}
				switch want {
				case `{"a":1}`:
					go func() { next <- "\n{\"b\":"; next <- `"}"}` }()
				case `{"b":"}"}`:
					go func() { next <- `{}`; close(next) }()
				}
			}
			if _, err := s.Next(); err != io.EOF { //nolint:errorlint // io.EOF itself is promised
				t.Fatalf("error %v, want io.EOF", err)
			}
		})
	}
}

// Two frames come in one piece, so the second is there when the first was read.
func TestNextFrameIsReady(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			c := newTestClient(t, w.serve(t, holdOpen(`{"n":1}`, `{"n":2}`)))
			s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
			must.OK(t, err)
			defer s.Close()
			for _, ready := range []bool{true, false} {
				if _, err := s.Next(); err != nil {
					t.Fatal(err)
				}
				if got := s.(interface{ Ready() bool }).Ready(); got != ready {
					t.Errorf("ready: %t, want %t", got, ready)
				}
			}
		})
	}
}

func TestStreamThatIsCutIsNoCleanEnd(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	tests := []struct {
		name, body string
		want       error
		wantErr    string
	}{
		{"last chunk", "3\r\n{}\n\r\n0\r\n\r\n", io.EOF, "EOF"},
		{"cut between frames", "3\r\n{}\n\r\n", io.ErrUnexpectedEOF, "watch http://api.example/: unexpected EOF"},
		{"cut inside a chunk", "9\r\n{}\n", io.ErrUnexpectedEOF, "watch http://api.example/: unexpected EOF"},
		{"last chunk inside a frame", "5\r\n{}{\"a\r\n0\r\n\r\n", io.ErrUnexpectedEOF, "watch http://api.example/: the stream ends inside a frame, 3 bytes in: unexpected EOF"},
		{"no chunk", "<html>\r\n", nil, "watch http://api.example/: invalid byte in chunk length"},
		{"no frame", "7\r\n{}\n<htm\r\n0\r\n\r\n", nil, `watch http://api.example/: malformed frame at byte 3 of the stream: want the '{' of an event, at "<htm"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := newTestClient(t, answer([]byte(head+tt.body))).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
			must.OK(t, err)
			defer s.Close()
			for {
				if _, err = s.Next(); err != nil {
					break
				}
			}
			checkError(t, err, tt.wantErr)
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v is not %v", err, tt.want)
			}
			if errors.Is(err, io.EOF) != (tt.want == io.EOF) { //nolint:errorlint // comparing the table's own value
				t.Errorf("error %v: a clean end, or not", err)
			}
		})
	}
}

func TestStreamGoesOnAfterAFrameThatIsTooLarge(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		writeFrames(w, `{"n":1}`, frameOf(200_000), `{"n":2}`)
	})
	cfg.MaxFrameBytes = 100_000
	s, err := newTestClient(t, cfg).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
	must.OK(t, err)
	defer s.Close()
	for i, want := range []string{`{"n":1}`, "", `{"n":2}`} {
		frame, err := s.Next()
		if _, ok := errors.AsType[*frames.TooLargeError](err); ok != (want == "") || string(frame.Data) != want {
			t.Fatalf("frame %d: %q, %v", i, frame.Data, err)
		}
	}
}

func TestWatchRefusesUnexpectedContent(t *testing.T) {
	tests := []struct {
		name, contentType string
		status            int
		wantErr           string // "" if the watch continues
	}{
		{"JSON", "application/json", 200, ""},
		{"parameters", "Application/JSON;stream=watch;charset=utf-8", 200, ""},
		{"broken parameters", "application/json; =;", 200, ""},
		{"a login page", "text/html; charset=utf-8", 200, `200 OK with unexpected Content-Type "text/html; charset=utf-8" instead of "application/vnd.kubernetes.protobuf" or "application/json": body begins "{}REDACTED\n"`},
		{"protobuf", "application/vnd.kubernetes.protobuf;stream=watch", 200, ""},
		{"CBOR, which was not asked for", "application/cbor-seq", 200, "unexpected Content-Type"},
		{"YAML", "application/yaml;stream=watch", 200, `unexpected Content-Type "application/yaml;stream=watch" instead of "application/vnd.kubernetes.protobuf" or "application/json": body`},
		{"accepted", "application/json", 202, `202 Accepted with unexpected Content-Type "application/json"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, "{}s3cr3t-token\n")
			})
			cfg.BearerToken = "s3cr3t-token"
			s, err := newTestClient(t, cfg).Watch(t.Context(), Request{Frames: protobufOrJSON, Path: "/"})
			if err == nil {
				s.Close()
			}
			checkError(t, err, tt.wantErr)
			var unexpected *UnexpectedContentError
			if errors.As(err, &unexpected) != (tt.wantErr != "") {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("no Content-Type", func(t *testing.T) {
		s, err := newTestClient(t, answer([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
		must.OK(t, err)
		defer s.Close()
		if frame, err := s.Next(); err != nil || string(frame.Data) != "{}" {
			t.Fatalf("got %q, %v", frame.Data, err)
		}
	})
	t.Run("from Get, when the caller says so", func(t *testing.T) {
		c := newTestClient(t, answer([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>")))
		resp, err := c.Get(t.Context(), Request{Path: "/x"})
		must.OK(t, err)
		if resp.MediaType != "text/html" {
			t.Errorf("media type %q", resp.MediaType)
		}
		checkError(t, resp.UnexpectedContent(), `get http://api.example/x: 200 OK with unexpected Content-Type "text/html" instead of "application/json": body begins "<html>"`)
	})
}

// TestUnexpectedContentOfAStalledServer has a login page that never comes.
func TestUnexpectedContentOfAStalledServer(t *testing.T) {
	for _, status := range []int{200, 503} {
		synctest.Test(t, func(t *testing.T) {
			network := memnet.New()
			stop := serveOn(network, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(status)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			defer stop()
			c := newTestClient(t, Config{Server: "http://api.example", Dial: network.Dial})
			begun := time.Now()
			if _, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"}); err == nil {
				t.Fatal("no error")
			}
			if waited := time.Since(begun); waited != errorBodyTimeout {
				t.Errorf("waited %v, want %v", waited, errorBodyTimeout)
			}
		})
	}
}

// TestStreamOfCapturedBytes reads what a kube-apiserver sent, chunk framing and all.
func TestStreamOfCapturedBytes(t *testing.T) {
	capture := capturedResponse(t, "../testdata/captures/watch-live.http")
	c := newTestClient(t, answer(capture.raw))
	s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/api/v1/namespaces/trace/configmaps", Query: url.Values{"watch": {"1"}}})
	must.OK(t, err)
	defer s.Close()
	var got bytes.Buffer
	for {
		frame, err := s.Next()
		if err == io.EOF { //nolint:errorlint // io.EOF itself is promised
			break
		}
		must.OK(t, err)
		got.Write(frame.Data)
		got.WriteByte('\n')
	}
	if want := string(capture.body); strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestReadHookSeesBytesOfAnUnfinishedFrame(t *testing.T) {
	const half = `{"type":"ADDED",`
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			finish := make(chan struct{})
			client := newTestClient(t, w.serve(t, func(rw http.ResponseWriter, _ *http.Request) {
				writeFrames(rw, half)
				<-finish
			}))
			read := make(chan int, 10)
			stream, err := client.Watch(hook.With[hook.Read](t.Context(), func(n int) { read <- n }), Request{Frames: jsonFrames, Path: "/"})
			must.OK(t, err)
			done := make(chan error, 1)
			go func() {
				_, err := stream.Next()
				done <- err
			}()
			if n := <-read; n != len(half)+1 { // and a newline
				t.Errorf("the hook was told of %d bytes, want %d", n, len(half)+1)
			}
			close(finish)
			if err := <-done; !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Next returned %v, want io.ErrUnexpectedEOF", err)
			}
		})
	}
}

func TestWatchNeedsAFormat(t *testing.T) {
	cfg := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	_, err := newTestClient(t, cfg).Watch(t.Context(), Request{Path: "/"})
	checkError(t, err, "Request.Frames")
}
