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

	"github.com/relist-go/relist/internal/pipe"
	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/transport"
)

// tap is a proxy in memory between the recorded client and the API server. To the client it is a server, and to the
// API server it is a client. It records what it passes on.
type tap struct {
	upstream *transport.Client
	log      *log
	kind     string
	version  string         // the apiVersion of objects
	full     bool           // the recording keeps every field of objects
	path     string         // of the collection
	links    sync.WaitGroup // the goroutines of the connections

	mu       sync.Mutex
	encoding encoding // of the first list or watch; nil before that
}

// dialer returns a function that makes connections to the tap. All requests on the connections end with ctx. The
// requests of one connection also end when the client closes it.
func (t *tap) dialer(ctx context.Context) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := pipe.New()
		t.links.Go(func() { t.serve(ctx, server) })
		return client, nil
	}
}

// serve answers the requests on one connection.
func (t *tap) serve(ctx context.Context, conn *pipe.Conn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.links.Go(func() { // if the client hangs up, the request to the server ends, too
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

// live is an exchange that has not ended.
type live struct {
	*tap
	*exchange
	conn *pipe.Conn
	in   *bufio.Reader // of conn
}

// reducer returns the reducer for an answer in an encoding. A trace has only one encoding. If e is not the encoding
// of the trace, reducer returns false.
func (t *tap) reducer(e encoding) (*reducer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.encoding == nil {
		t.encoding = e
	}
	return &reducer{kind: t.kind, apiVersion: t.version, full: t.full, encoding: e}, t.encoding == e
}

// settled returns the encoding of the trace.
func (t *tap) settled() encoding {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.encoding
}

// plain returns a reducer that reads JSON. It does not decide the encoding of the trace.
func (t *tap) plain() *reducer {
	return &reducer{kind: t.kind, apiVersion: t.version, full: t.full, encoding: jsonFormat{}}
}

// answer sends a request to the server, and passes the answer on to the client. It returns false if the connection
// must not be used again.
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

// failed passes an error on to the client: a Status of the server, or the end of the connection.
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

// maxWhole is the largest number of bytes that are read of an answer that is not a list. There is a limit, because a
// proxy may have sent the answer.
const maxWhole = 1 << 20

// whole passes on an answer that is not a stream, after the whole answer has come.
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

// broken passes on an answer that broke off. In JSON, the trace shows it as a watch, in chunks. In the other encodings
// a watch has another Content-Type, so the trace shows the bytes of the head, too.
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

// send writes to the client, and waits until the client has taken the bytes. It returns false if the client hangs up
// instead.
func (x *live) send(ctx context.Context, data []byte) bool {
	_, _ = x.conn.Write(data) // an error does not matter: Settle notices a client that has hung up
	return x.conn.Settle(ctx) || x.end(hungUp)
}

// sendLast sends the last bytes of an answer. It ends the exchange first, so that the exchange is over before the
// client can send its next request.
func (x *live) sendLast(ctx context.Context, data []byte) bool {
	x.log.add(x.exchange, finished)
	return x.send(ctx, data)
}

// end ends the exchange, and ends the client's connection in the way in which the server's connection ended. It
// always returns false, because the connection is over.
func (x *live) end(how ending) bool {
	x.log.add(x.exchange, how)
	if how == reset {
		x.conn.Reset()
	}
	return false
}

// howEnded returns reset if the connection ended with a TCP reset, and cut otherwise.
func howEnded(err error) ending {
	if errors.Is(err, syscall.ECONNRESET) {
		return reset
	}
	return cut
}

const jsonMediaType = "application/json"

// chunkedHead returns the head of a watch, and response returns a whole answer. Both have the same bytes as in a
// replay of a trace.
func chunkedHead(contentType string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\nTransfer-Encoding: chunked\r\n\r\n"
}

func response(code int, contentType string, body []byte) []byte {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", code, http.StatusText(code), contentType, len(body))
	return append([]byte(head), body...)
}

func chunk(data []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }

// stream passes a watch on, piece by piece.
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
			// A trace has a chunk for each event, so the client gets a chunk for each event, too.
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

// errEncodings ends a recording, because all events of a trace have the same encoding.
var errEncodings = errors.New("the server answered in one encoding and then in another, for which a trace has no word: record it with --encoding json")

// assembly puts events together from the pieces in which they came.
type assembly struct {
	bytes []byte
	ends  []int // where each piece before the last ended
}

// add adds a piece. If the piece is the end of an event, add returns the event, and where its pieces ended, as
// fractions of its length. The event is valid until the next call of add.
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
