package transport

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/net/http2"
)

// TestUnknownFramesAreNotLogged has a server that sends frames that mean nothing to a
// client, between others and in front of them. Each would be a line of the program's log.
func TestUnknownFramesAreNotLogged(t *testing.T) {
	var logged bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&logged)
	for _, kind := range []http2.FrameType{http2.FramePriority, 0xa, 0x10, 0xff} {
		for _, size := range []int{5, 16 << 10} {
			converse(t, func(c *frameConn, stream uint32, path string) {
				c.unknown(kind, size)
				one(c, stream, path)
			}, func(v *conversation) {
				s := v.watch("/watch")
				defer s.Close()
				for range 300 {
					v.conn(1).unknown(kind, size)
				}
				v.conn(1).data(1, `{"n":2}`, false)
				v.next(s, `{"n":2}`)
				v.get("/get")
				v.wantRequests("1:1:/watch 1:3:/get")
			})
		}
	}
	if logged.Len() > 0 {
		t.Errorf("%d lines are logged, the first is %s", strings.Count(logged.String(), "\n"), bytes.SplitN(logged.Bytes(), []byte("\n"), 2)[0])
	}
}

// TestFirstRequestWaitsForNoPong has a peer that answers no PING, as some proxies. The
// first request is not late for that.
func TestFirstRequestWaitsForNoPong(t *testing.T) {
	converse(t, one, func(v *conversation) {
		v.server.noPong = true
		begun := time.Now()
		v.get("/get")
		if took := time.Since(begun); took != 0 {
			t.Errorf("the first request took %v", took)
		}
	})
}

// TestEndInsideAFrame cuts a connection in the head of a frame, and in what follows it.
// Neither is the orderly end of a watch.
func TestEndInsideAFrame(t *testing.T) {
	for name, cut := range map[string][]byte{
		"head":    {0, 0, 8, 0},
		"payload": {0, 0, 8, 0, 0, 0, 0, 0, 1, '{'},
		"unknown": {0, 0, 8, 0x10, 0, 0, 0, 0, 0, 'x'},
		"GOAWAY":  {0, 0, 8, 7, 0, 0, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			converse(t, one, func(v *conversation) {
				s := v.watch("/watch")
				defer s.Close()
				first := v.conn(1)
				first.out <- func() { _, _ = first.conn.Write(cut) }
				first.disconnect()
				_, err := s.Next()
				checkError(t, err, "watch http://api.example/watch: unexpected EOF")
				v.get("/get")
				v.wantRequests("1:1:/watch 2:1:/get")
			})
		})
	}
}

// FuzzH2Conn reads frames in pieces of any size. What comes out is what went in, without
// the frames that a client ignores.
func FuzzH2Conn(f *testing.F) {
	frame := func(kind byte, payload ...byte) string {
		return string(append([]byte{0, 0, byte(len(payload)), kind, 0, 0, 0, 0, 0}, payload...))
	}
	f.Add(frame(4)+frame(4)+frame(0x10, 1, 2)+frame(0, 'x'), 1)
	f.Add(frame(0xff)+frame(7, 0, 0, 0, 1, 0, 0, 0, 0)+frame(2, 1, 2, 3, 4, 5), 3)
	f.Add(frame(7, 0)+"\x00\x00", 100)
	f.Add("\xff\xff\xff\x10\x00\x00\x00\x00\x00x", 4096)
	f.Fuzz(func(t *testing.T, in string, size int) {
		var want []byte
		for rest := []byte(in); len(rest) > 0; {
			if len(rest) < frameHead {
				want = append(want, rest...)
				break
			}
			n := int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2])
			whole := min(len(rest), frameHead+n)
			if kind := rest[3]; kind != 2 && kind <= 9 || n > largestFrame {
				want = append(want, rest[:whole]...)
			}
			rest = rest[whole:]
		}
		c := newH2Conn(readsFrom{Reader: iotest.OneByteReader(strings.NewReader(in))})
		var got []byte
		buf := make([]byte, 1+size&0x1fff)
		var err error
		for err == nil {
			var n int
			n, err = c.Read(buf)
			got = append(got, buf[:n]...)
		}
		if !errors.Is(err, io.EOF) || !bytes.Equal(got, want) {
			t.Errorf("got %q, %v\nwant %q", got, err, want)
		}
		if got := c.readError(); got == nil {
			t.Error("it has not noted the end")
		}
	})
}

// readsFrom is a connection of which only Read is called.
type readsFrom struct {
	net.Conn
	io.Reader
}

func (r readsFrom) Read(p []byte) (int, error) { return r.Reader.Read(p) }
