package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frames is HTTP/2 on a connection, without TLS. Several requests share the connection, one on each
// stream.
type frames struct {
	*http2.Framer

	mu      sync.Mutex // held while something is written
	block   bytes.Buffer
	headers *hpack.Encoder // into block
	hangs   bool           // pings are not answered
}

// Stimuli of HTTP/2.
type (
	rst    struct{ code http2.ErrCode } // a stream is reset
	goAway struct{ code http2.ErrCode } // the connection takes no more requests
)

func newFrames(l *link) *frames {
	f := &frames{Framer: http2.NewFramer(l.conn, l.in)}
	f.headers = hpack.NewEncoder(&f.block)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return f
}

// parseErrCode reads the name of an error code of HTTP/2, such as CANCEL.
func parseErrCode(text string) (http2.ErrCode, error) {
	for code := http2.ErrCodeNo; code <= http2.ErrCodeHTTP11Required; code++ {
		if code.String() == text {
			return code, nil
		}
	}
	return 0, fmt.Errorf("%q is no error code of HTTP/2, such as NO_ERROR or INTERNAL_ERROR", text)
}

// write writes frames. It ignores an error, as peer.send does.
func (f *frames) write(frames func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	frames()
}

// head sends the head of an answer. Empty values are left out.
func (f *frames) head(stream uint32, code int, fields ...string) {
	f.write(func() {
		f.block.Reset()
		_ = f.headers.WriteField(hpack.HeaderField{Name: ":status", Value: strconv.Itoa(code)})
		for i := 0; i < len(fields); i += 2 {
			if fields[i+1] != "" {
				_ = f.headers.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
			}
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.block.Bytes(), EndHeaders: true})
	})
}

// data sends a part of an answer, in frames of the largest size that every client takes.
func (f *frames) data(stream uint32, data []byte, end bool) {
	const largest = 1 << 14
	f.write(func() {
		for ; len(data) > largest; data = data[largest:] {
			_ = f.WriteData(stream, false, data[:largest])
		}
		_ = f.WriteData(stream, end, data)
	})
}

// readFrames records the requests on a connection until the client closes it.
func (p *peer) readFrames(l *link) {
	f := l.frames
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(l.in, preface); err != nil || string(preface) != http2.ClientPreface {
		p.closed(l, errors.Join(err, errors.New("it does not begin with the preface of HTTP/2")))
		return
	}
	f.write(func() { _ = f.WriteSettings() })
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			p.closed(l, err)
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.write(func() { _ = f.WriteSettingsAck() })
			}
		case *http2.PingFrame:
			p.pinged(l, frame)
		case *http2.RSTStreamFrame:
			p.givenUp(l, frame)
		case *http2.MetaHeadersFrame:
			p.requested(&link{conn: l.conn, frames: f, stream: frame.StreamID}, requestOf(frame))
		}
	}
}

// requestOf returns as much of a request as a run looks at.
func requestOf(frame *http2.MetaHeadersFrame) *http.Request {
	req := &http.Request{Method: frame.PseudoValue("method"), URL: &url.URL{}, Header: http.Header{}}
	req.URL.Path, req.URL.RawQuery, _ = strings.Cut(frame.PseudoValue("path"), "?")
	for _, field := range frame.RegularFields() {
		req.Header.Add(field.Name, field.Value)
	}
	return req
}

// pinged answers a ping. One that is not answered is worth a line.
func (p *peer) pinged(l *link, frame *http2.PingFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case frame.IsAck():
	case l.frames.hangs:
		p.note(note{link: l, lines: []string{"> ping"}})
	default:
		l.frames.write(func() { _ = l.frames.WritePing(true, frame.Data) })
	}
}

// givenUp records that the client has given up a stream, unless its answer is whole.
func (p *peer) givenUp(l *link, frame *http2.RSTStreamFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if r.link.frames == l.frames && r.link.stream == frame.StreamID && !r.answered {
			r.answered = true
			p.note(note{link: r.link, closed: true, lines: []string{"> rst " + frame.ErrCode.String()}})
		}
	}
}

var errNoHTTP2 = errors.New("this line is only for HTTP/2: begin with start transport=http2")

func (s rst) play(r *run) error {
	req, err := r.peer.newest()
	if err != nil {
		return err
	}
	f := req.link.frames
	if f == nil {
		return errNoHTTP2
	}
	r.peer.finish(req)
	f.write(func() { _ = f.WriteRSTStream(req.link.stream, s.code) })
	r.settle()
	return nil
}

// A server that goes away says which requests it has looked at: here, those whose answers have
// begun. The client may send the others again, so nobody waits for their answers.
func (s goAway) play(r *run) error {
	req, err := r.peer.newest()
	if err != nil {
		return err
	}
	f := req.link.frames
	if f == nil {
		return errNoHTTP2
	}
	last := r.peer.forget(f)
	f.write(func() { _ = f.WriteGoAway(last, s.code, nil) })
	r.settle()
	return nil
}

// forget finishes the requests of a connection that have no part of an answer, and returns the last
// stream of the others.
func (p *peer) forget(f *frames) (last uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		switch {
		case r.link.frames != f:
		case r.started || r.answered:
			last = max(last, r.link.stream)
		default:
			r.answered = true
		}
	}
	return last
}
