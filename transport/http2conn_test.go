package transport

import (
	"bytes"
	"log"
	"strings"
	"testing"
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
				first.hangUp()
				_, err := s.Next()
				checkError(t, err, "watch http://api.example/watch: unexpected EOF")
				v.get("/get")
				v.wantRequests("1:1:/watch 2:1:/get")
			})
		})
	}
}
