package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/pipe"
)

// The methods that play each kind of stimulus.

func (s *start) play(r *run) error { return r.start(s) }

// pop takes the entries that wait, at most n.
func (s pop) play(r *run) error {
	for range s.n {
		entry, ok := r.client.Pop()
		if !ok {
			return nil
		}
		r.put("= " + entry)
		r.settle()
	}
	return nil
}

func (store) play(r *run) error {
	objects := r.client.Store()
	if len(objects) == 0 {
		r.put("= store empty")
	}
	for _, object := range objects {
		r.put("= store " + object)
	}
	return nil
}

func (s sleep) play(r *run) error {
	<-time.After(s.d)
	r.settle()
	return nil
}

func (s wait) play(r *run) error {
	select {
	case <-r.peer.visible:
	case <-time.After(s.d):
	}
	r.settle()
	return nil
}

func (stop) play(r *run) error { return r.stop() }

func (s restart) play(r *run) error {
	if r.done != nil {
		return errors.New("restart: the program runs; stop it first")
	}
	if s.saved {
		if err := r.startSaved(); err != nil {
			return fmt.Errorf("restart saved: %w", err)
		}
	}
	r.launch()
	r.settle()
	return nil
}

func (l *list) play(r *run) error {
	if req, err := r.peer.newest(); err == nil && req.wish.watch && !req.started {
		return errWatchAsked
	}
	body, err := listOf(l.of, l.version, l.token, l.items, l.words.json)
	if err != nil {
		return err
	}
	contentType, _ := l.of.encoding.mediaTypes()
	encoded, err := l.of.encoding.encode(body)
	if err != nil {
		return err
	}
	return (&reply{code: http.StatusOK, contentType: contentType, body: encoded}).play(r)
}

func (a *reply) play(r *run) error {
	req, err := r.peer.newest()
	if err != nil {
		return err
	}
	if req.started {
		return errAnswered
	}
	if f := req.link.frames; f != nil {
		r.peer.finish(req)
		f.head(req.link.stream, a.code, "content-type", a.contentType, "retry-after", a.retryAfter, "content-length", strconv.Itoa(len(a.body)))
		f.data(req.link.stream, a.body, true)
		r.settle()
		return nil
	}
	retryAfter := ""
	if a.retryAfter != "" {
		retryAfter = "Retry-After: " + a.retryAfter + "\r\n"
	}
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n",
		a.code, http.StatusText(a.code), a.contentType, retryAfter, len(a.body))
	r.peer.finish(req)
	r.peer.send(req, append([]byte(head), a.body...))
	r.settle()
	return nil
}

func (o open) play(r *run) error {
	req, err := r.peer.newest()
	if err != nil {
		return err
	}
	if req.started {
		return errAnswered
	}
	req.started, req.gzip = true, o.gzip
	contentEncoding := ""
	if o.gzip {
		contentEncoding = "gzip"
	}
	if f := req.link.frames; f != nil {
		f.head(req.link.stream, http.StatusOK, "content-type", o.contentType, "content-encoding", contentEncoding)
		r.settle()
		return nil
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: " + o.contentType + "\r\nTransfer-Encoding: chunked\r\n"
	if o.gzip {
		head += "Content-Encoding: " + contentEncoding + "\r\n"
	}
	r.peer.send(req, []byte(head+"\r\n"))
	r.settle()
	return nil
}

// Between the parts of a split chunk, the client can read the part that has come.
func (c *chunk) play(r *run) error {
	req, err := r.streaming()
	if err != nil {
		return err
	}
	if c.event && !req.wish.watch {
		return errListAsked
	}
	without := 0
	if req.link.socket != nil {
		without = c.length
	}
	parts, err := c.parts(without)
	if err != nil {
		return err
	}
	for i, part := range parts {
		if req.gzip {
			part = gzipped(part)
		}
		switch {
		case req.link.socket != nil:
			r.peer.send(req, c.frame(part, i == 0, i == len(parts)-1))
		case req.link.frames != nil:
			req.link.frames.data(req.link.stream, part, false)
		default:
			r.peer.send(req, fmt.Appendf(nil, "%x\r\n%s\r\n", len(part), part))
		}
		synctest.Wait()
	}
	r.settle()
	return nil
}

// gzipped returns a gzip file as kube-apiserver writes one for each event: the text is in a block
// before the last.
func gzipped(text []byte) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, _ = zip.Write(text) // a Buffer takes everything
	_ = zip.Flush()
	_ = zip.Close()
	return b.Bytes()
}

func (b *bare) play(r *run) error {
	req, err := r.peer.newest()
	if err != nil {
		return err
	}
	if req.link.frames != nil {
		return errors.New("HTTP/2 has no bytes without a frame")
	}
	req.started = true
	r.peer.send(req, b.data)
	r.settle()
	return nil
}

func (eof) play(r *run) error {
	req, err := r.streaming()
	if err != nil {
		return err
	}
	if req.link.socket != nil {
		return errSocketEnds
	}
	r.peer.finish(req)
	if f := req.link.frames; f != nil {
		f.data(req.link.stream, nil, true)
	} else {
		r.peer.send(req, []byte("0\r\n\r\n"))
	}
	r.settle()
	return nil
}

func (cut) play(r *run) error { return r.breakOff(func(c *pipe.Conn) { _ = c.Close() }) }

func (reset) play(r *run) error { return r.breakOff((*pipe.Conn).Reset) }

// breakOff ends the connection of the newest request without the rest of an answer.
func (r *run) breakOff(end func(*pipe.Conn)) error {
	req, err := r.peer.newest()
	if err != nil {
		return err
	}
	r.peer.finish(req)
	end(req.link.conn)
	r.settle()
	return nil
}

func (refuse) play(r *run) error {
	r.peer.refuse()
	return nil
}

var (
	errAnswered = errors.New("the newest request without a full answer has a part of one: end that with eof, cut or reset; " +
		notAsked)
	errNoHead     = errors.New("no answer has begun: begin with < 200 watch")
	errListAsked  = errors.New("the program has asked for a list: an event is no part of the answer")
	errWatchAsked = errors.New("the program has asked for a watch: a list is no answer to it")
)

// streaming returns the request whose answer continues. An open watch continues beside a newer
// request without an answer.
func (r *run) streaming() (*request, error) {
	if req, ok := r.peer.streaming(); ok {
		return req, nil
	}
	if _, err := r.peer.newest(); err != nil {
		return nil, err
	}
	return nil, errNoHead
}
