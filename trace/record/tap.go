package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/trace/internal/pipe"
	"github.com/relist-go/relist/trace/internal/target"
	"github.com/relist-go/relist/transport"
)

// tap is a proxy in memory: a server to the client under recording, a client of
// the API server.
type tap struct {
	upstream *transport.Client
	log      *log
	kind     string
	version  string         // of the API, as objects have it
	full     bool           // keep every field
	path     string         // of the collection
	links    sync.WaitGroup // a goroutine for each connection, which ends with it

	mu       sync.Mutex
	encoding encoding // that of the first list or watch; nil before
}

// dialer makes connections to the tap. What they carry ends with ctx, and each of
// them when the client closes it.
func (t *tap) dialer(ctx context.Context) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := pipe.New()
		t.links.Go(func() { t.serve(ctx, server) })
		return client, nil
	}
}

// serve answers what comes on a connection.
func (t *tap) serve(ctx context.Context, conn *pipe.Conn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.links.Go(func() { // a client that hangs up does not want the answer
		select {
		case <-conn.HungUp():
			cancel()
		case <-ctx.Done():
		}
	})
	r := bufio.NewReader(conn)
	for fresh := true; ; fresh = false {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		x := &live{tap: t, conn: conn, in: r, exchange: t.log.ask(target.Of(req), fresh)}
		if !x.answer(ctx, req) {
			return
		}
	}
}

// live is an exchange that is going on.
type live struct {
	*tap
	*exchange
	conn *pipe.Conn
	in   *bufio.Reader // of conn
}

// reducer is that of an answer in an encoding. A trace has one encoding: false says that it is another one's.
func (t *tap) reducer(e encoding) (*reducer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.encoding == nil {
		t.encoding = e
	}
	return &reducer{kind: t.kind, apiVersion: t.version, full: t.full, encoding: e}, t.encoding == e
}

// settled is the encoding of the trace.
func (t *tap) settled() encoding {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.encoding
}

// plain is a reducer for what is in no encoding of objects.
func (t *tap) plain() *reducer {
	return &reducer{kind: t.kind, apiVersion: t.version, full: t.full, encoding: jsonFormat{}}
}

// answer hands the server's answer on. It returns false if the connection is over.
func (x *live) answer(ctx context.Context, req *http.Request) bool {
	asked := transport.Request{
		Path:   req.URL.EscapedPath(),
		Query:  req.URL.Query(),
		Accept: req.Header.Get("Accept"),
		Frames: framesOf(req.Header.Get("Accept")),
		Status: statusOf,
	}
	if websocket.IsWebSocketUpgrade(req) {
		return x.socket(ctx, req, asked)
	}
	resp, err := x.upstream.Get(ctx, asked)
	if !x.log.turn(x.exchange, ctx.Done()) || ctx.Err() != nil {
		if err == nil {
			_ = resp.Body.Close()
		}
		return x.end(hungUp)
	}
	if err != nil {
		return x.failed(ctx, err)
	}
	defer resp.Body.Close()
	watch := req.URL.Query().Get("watch") == "true"
	if e := encodingOf(resp.MediaType, true); watch && resp.StatusCode == http.StatusOK && e != nil {
		return x.stream(ctx, resp, e)
	}
	return x.whole(ctx, resp, !watch && req.URL.EscapedPath() == x.path)
}

// failed hands on that there is no answer, or none but a Status.
func (x *live) failed(ctx context.Context, err error) bool {
	var refusal *apierrors.StatusError
	if errors.As(err, &refusal) {
		s := refusal.ErrStatus
		body, err := json.Marshal(&s)
		if err != nil {
			return x.end(cut) // unreachable: a Status can be encoded
		}
		x.log.add(x.exchange, x.plain().status(&s))
		return x.sendLast(ctx, response(int(s.Code), jsonMediaType, body))
	}
	var dial *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return x.end(reset)
	case x.fresh && errors.As(err, &dial) && dial.Op == "dial" && time.Since(x.log.began)-x.asked < time.Second:
		return x.end(refused)
	}
	return x.end(cut)
}

// maxWhole bounds what is read of an answer that is no list: a proxy may be
// talking.
const maxWhole = 1 << 20

// whole hands on an answer that has an end, once it has come.
func (x *live) whole(ctx context.Context, resp *transport.Response, isList bool) bool {
	body := io.Reader(resp.Body)
	if !isList {
		body = io.LimitReader(body, maxWhole)
	}
	data, err := io.ReadAll(body)
	if ctx.Err() != nil {
		return x.end(hungUp)
	}
	if err != nil {
		return x.broken(ctx, resp, data, err)
	}
	contentType := resp.Header.Get("Content-Type")
	if contentType == "" {
		contentType = resp.MediaType
	}
	e := encodingOf(resp.MediaType, false)
	if isList && resp.StatusCode == http.StatusOK && e != nil {
		reduce, same := x.reducer(e)
		x.log.add(x.exchange, reduce.list(contentType, data, same))
	} else {
		x.log.add(x.exchange, x.plain().other(resp.StatusCode, contentType, data))
	}
	return x.sendLast(ctx, response(resp.StatusCode, contentType, data))
}

// broken hands on an answer that broke off. In JSON a trace says that as a watch, in chunks; in the other encodings it
// writes the head, which names another type than that of a watch.
func (x *live) broken(ctx context.Context, resp *transport.Response, data []byte, err error) bool {
	e := encodingOf(resp.MediaType, false)
	if e == nil || e.name() == JSON {
		x.log.add(x.exchange, head{})
		answer := []byte(chunkedHead(jsonMediaType))
		if len(data) > 0 {
			x.log.add(x.exchange, x.plain().begunList(data))
			answer = append(answer, chunk(data)...)
		}
		return x.send(ctx, answer) && x.end(howEnded(err))
	}
	answer := []byte(chunkedHead(resp.MediaType))
	said := answer
	if len(data) > 0 {
		begun := e.begun(data, true)
		answer, said = append(answer, chunk(data)...), append(slices.Clone(said), chunk(begun)...)
	}
	x.log.add(x.exchange, &wire{data: said})
	return x.send(ctx, answer) && x.end(howEnded(err))
}

// send writes to the client and waits until it has taken that. It returns false if
// the client hangs up instead.
func (x *live) send(ctx context.Context, data []byte) bool {
	_, _ = x.conn.Write(data) // what the client no longer wants is found next
	return x.conn.Settle(ctx) || x.end(hungUp)
}

// sendLast is send for the end of an answer. The exchange is over before the
// client can ask for something else.
func (x *live) sendLast(ctx context.Context, data []byte) bool {
	x.log.add(x.exchange, finished)
	return x.send(ctx, data)
}

// end does to the client what was done to the tap. It returns false: the
// connection is over.
func (x *live) end(how ending) bool {
	x.log.add(x.exchange, how)
	if how == reset {
		x.conn.Reset()
	}
	return false
}

// howEnded tells a reset from a connection that just ended.
func howEnded(err error) ending {
	if errors.Is(err, syscall.ECONNRESET) {
		return reset
	}
	return cut
}

const jsonMediaType = "application/json"

// chunkedHead is the head of a watch, and response is a whole answer, as a trace
// has them.
func chunkedHead(contentType string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\nTransfer-Encoding: chunked\r\n\r\n"
}

func response(code int, contentType string, body []byte) []byte {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", code, http.StatusText(code), contentType, len(body))
	return append([]byte(head), body...)
}

func chunk(data []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }

// stream hands on a watch, piece by piece.
func (x *live) stream(ctx context.Context, resp *transport.Response, e encoding) bool {
	reduce, same := x.reducer(e)
	if !same {
		x.log.fail(errEncodings)
		return x.end(cut)
	}
	x.log.add(x.exchange, head{})
	contentType := resp.MediaType
	if e.name() == Protobuf {
		contentType += ";stream=watch"
	}
	if !x.send(ctx, []byte(chunkedHead(contentType))) {
		return false
	}
	frame, cutter := assembly{}, e.cutter()
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			if !x.log.turn(x.exchange, ctx.Done()) {
				return x.end(hungUp)
			}
			// A trace has a chunk for each event, so the client gets that too.
			n, ends := cutter(rest)
			piece := rest[:n]
			rest = rest[n:]
			if whole, split := frame.add(piece, ends); whole != nil {
				x.log.add(x.exchange, reduce.event(whole, e.length(), split))
			}
			if !x.send(ctx, chunk(piece)) {
				return false
			}
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil || !x.log.turn(x.exchange, ctx.Done()) {
			return x.end(hungUp)
		}
		if begun := frame.bytes; len(begun) > 0 {
			x.log.add(x.exchange, reduce.begunEvent(begun))
		}
		if !errors.Is(err, io.EOF) {
			return x.end(howEnded(err))
		}
		x.log.add(x.exchange, eof)
		return x.send(ctx, []byte(lastChunk))
	}
}

const lastChunk = "0\r\n\r\n"

// errEncodings ends a recording, since the events of a trace are in one encoding.
var errEncodings = errors.New("the server answered in one encoding and then in another, for which a trace has no word: record it with --encoding json")

// assembly puts events together from the pieces that they came in.
type assembly struct {
	bytes []byte
	ends  []int // of pieces but the last
}

// add returns the event that a piece ends, if it ends one, and where its pieces
// ended. The event is valid until the next call.
func (a *assembly) add(piece []byte, ends bool) (event []byte, split []float64) {
	a.bytes = append(a.bytes, piece...)
	if !ends {
		a.ends = append(a.ends, len(a.bytes))
		return nil, nil
	}
	for _, end := range a.ends {
		split = append(split, float64(end)/float64(len(a.bytes)))
	}
	event = a.bytes
	a.bytes, a.ends = a.bytes[:0], a.ends[:0]
	return event, split
}
