package transport

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// conversation is a client and a frameServer. Requests are noted as
// connection:stream:path.
type conversation struct {
	t      *testing.T
	server *frameServer
	client *Client
	noted  []string
}

// converse runs a test in a bubble, which fails if a goroutine is left.
func converse(t *testing.T, answer func(c *frameConn, stream uint32, path string), test func(v *conversation), settings ...http2.Setting) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := &conversation{t: t}
		server, stop := newFrameServer(func(c *frameConn, stream uint32, path string) {
			v.noted = append(v.noted, fmt.Sprintf("%d:%d:%s", c.number, stream, path))
			answer(c, stream, path)
		}, settings...)
		v.server = server
		v.client = newTestClient(t, Config{Server: "http://api.example", Protocol: ProtocolHTTP2, Dial: server.Dial})
		test(v)
		v.client.Close()
		stop()
	})
}

// one answers a watch with a frame, and anything else in full.
func one(c *frameConn, stream uint32, path string) {
	c.headers(stream)
	c.data(stream, `{"n":1}`, !strings.HasPrefix(path, "/watch"))
}

func (v *conversation) watch(path string) Stream {
	v.t.Helper()
	s, err := v.client.Watch(v.t.Context(), Request{Frames: jsonFrames, Path: path})
	if err != nil {
		v.t.Fatal(err)
	}
	v.next(s, `{"n":1}`)
	return s
}

func (v *conversation) next(s Stream, want string) {
	v.t.Helper()
	frame, err := s.Next()
	if err != nil || string(frame.Data) != want {
		v.t.Fatalf("frame %q, %v, want %q", frame.Data, err, want)
	}
}

func (v *conversation) get(path string) {
	v.t.Helper()
	if err := getAll(v.t.Context(), v.client, path); err != nil {
		v.t.Fatal(err)
	}
	synctest.Wait() // its stream is over then, on this side too
}

func (v *conversation) wantRequests(want string) {
	v.t.Helper()
	synctest.Wait()
	if got := strings.Join(v.noted, " "); got != want {
		v.t.Errorf("requests %s\n   want %s", got, want)
	}
	v.noted = nil
}

// conn is the server's end of the n-th connection.
func (v *conversation) conn(n int) *frameConn {
	v.server.mu.Lock()
	defer v.server.mu.Unlock()
	return v.server.conns[n-1]
}

// TestGoAwayGraceful lets the watches that are open finish, however long that takes,
// while new requests go elsewhere. A second GOAWAY, with the last stream there was, is
// how a server of RFC 9113, section 6.8, continues.
func TestGoAwayGraceful(t *testing.T) {
	converse(t, one, func(v *conversation) {
		s := v.watch("/watch")
		defer s.Close()
		first := v.conn(1)
		first.goAway(1<<31-1, http2.ErrCodeNo)
		synctest.Wait()
		v.get("/a")
		first.goAway(1, http2.ErrCodeNo)
		synctest.Wait()
		v.get("/b")
		v.wantRequests("1:1:/watch 2:1:/a 2:3:/b")
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		first.data(1, `{"n":2}`, false)
		v.next(s, `{"n":2}`)
		first.data(1, "", true)
		if _, err := s.Next(); err != io.EOF { //nolint:errorlint // io.EOF itself is promised
			t.Errorf("end: %v", err)
		}
	})
}

// TestGoAwayTwiceInARow refuses the request on the second connection too, as servers
// do that go down one after the other.
func TestGoAwayTwiceInARow(t *testing.T) {
	converse(t, func(c *frameConn, stream uint32, path string) {
		if c.number <= 2 && path == "/watch" {
			c.goAway(0, http2.ErrCodeNo)
			c.disconnect()
			return
		}
		one(c, stream, path)
	}, func(v *conversation) {
		defer v.watch("/watch").Close()
		v.wantRequests("1:1:/watch 2:1:/watch 3:1:/watch")
	})
}

// TestGoAwayForced ends an open watch at once. That is no orderly end: the watch has
// to be opened again where it stopped.
func TestGoAwayForced(t *testing.T) {
	converse(t, one, func(v *conversation) {
		s := v.watch("/watch")
		first := v.conn(1)
		first.goAway(1, http2.ErrCodeEnhanceYourCalm)
		first.disconnect()
		_, err := s.Next()
		checkError(t, err, "watch http://api.example/watch: http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=ENHANCE_YOUR_CALM")
		s.Close()
		defer v.watch("/watch").Close()
		v.wantRequests("1:1:/watch 2:1:/watch")
	})
}

// TestReset ends one stream, and no other of the same connection.
func TestReset(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeInternal, http2.ErrCodeCancel, http2.ErrCodeNo, http2.ErrCodeRefusedStream} {
		t.Run(code.String(), func(t *testing.T) {
			converse(t, one, func(v *conversation) {
				cut, other := v.watch("/watch/cut"), v.watch("/watch/other")
				defer other.Close()
				v.conn(1).reset(1, code)
				_, err := cut.Next()
				var reset http2.StreamError
				if !errors.As(err, &reset) || reset.Code != code {
					t.Errorf("error %v, want that of the stream", err)
				}
				cut.Close()
				v.conn(1).data(3, `{"n":2}`, false)
				v.next(other, `{"n":2}`)
				v.get("/a")
				v.wantRequests("1:1:/watch/cut 1:3:/watch/other 1:5:/a")
			})
		})
	}
}

// TestResetBeforeTheAnswer is an error for whoever sent the request, who knows when to try again.
// That holds also if the server says that it has done nothing (REFUSED_STREAM).
func TestResetBeforeTheAnswer(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeRefusedStream, http2.ErrCodeInternal} {
		t.Run(code.String(), func(t *testing.T) {
			converse(t, func(c *frameConn, stream uint32, path string) {
				if stream == 1 {
					c.reset(stream, code)
					return
				}
				one(c, stream, path)
			}, func(v *conversation) {
				var reset http2.StreamError
				if _, err := v.client.Watch(v.t.Context(), Request{Frames: jsonFrames, Path: "/watch"}); !errors.As(err, &reset) || reset.Code != code {
					t.Errorf("error %v, want that of the stream", err)
				}
				v.get("/get")
				v.wantRequests("1:1:/watch 1:3:/get")
			})
		})
	}
}

// TestStreamLimitIsNoQueue has connections of two streams each. The third watch does
// not wait for one of them to end, which may take minutes.
func TestStreamLimitIsNoQueue(t *testing.T) {
	converse(t, one, func(v *conversation) {
		v.get("/settings-are-known-then")
		var streams []Stream
		for i := range 5 {
			streams = append(streams, v.watch(fmt.Sprintf("/watch/%d", i)))
		}
		v.get("/short")
		v.wantRequests("1:1:/settings-are-known-then 1:3:/watch/0 1:5:/watch/1 2:1:/watch/2 2:3:/watch/3 3:1:/watch/4 3:3:/short")
		streams[0].Close()
		synctest.Wait()
		streams = append(streams, v.watch("/watch/again"))
		v.wantRequests("1:7:/watch/again")
		for _, s := range streams {
			s.Close()
		}
	}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
}

// TestSlowReaderStallsNobody leaves a watch unread until its window is full. What
// shares its connection continues, since each stream has a window of its own.
func TestSlowReaderStallsNobody(t *testing.T) {
	const window = 4 << 20 // of a stream, in net/http
	full := strings.Repeat(" ", 16<<10)
	converse(t, func(c *frameConn, stream uint32, path string) {
		one(c, stream, path)
		if path == "/watch/unread" {
			for range window/len(full) - 1 {
				c.data(stream, full, false)
			}
		}
	}, func(v *conversation) {
		unread := v.watch("/watch/unread")
		other := v.watch("/watch/read")
		for n := 2; n <= 100; n++ {
			frame := fmt.Sprintf(`{"n":%d}`, n)
			v.conn(1).data(3, frame, false)
			v.next(other, frame)
		}
		v.get("/short")
		v.wantRequests("1:1:/watch/unread 1:3:/watch/read 1:5:/short")
		v.conn(1).data(1, `{"n":2}`, false)
		v.next(unread, `{"n":2}`)
		unread.Close()
		other.Close()
	})
}
