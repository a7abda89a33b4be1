package record

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/internal/pipe"
	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/transport"
)

// tap is a proxy in memory between the recorded client and the API server. To the client it is a
// server, and to the API server it is a client. It records what it passes on.
type tap struct {
	upstream *transport.Client
	log      *log
	reduce   *reducer
	path     string         // of the collection
	links    sync.WaitGroup // the goroutines of the connections
}

// dialer returns a function that makes connections to the tap. All requests on the connections end
// with ctx. The requests of one connection also end when the client closes it.
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
	t.links.Go(func() { // if the client closes the connection, the request to the server ends, too
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
		x := &live{tap: t, conn: conn, exchange: t.log.ask(target.Of(req), fresh)}
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
}

// answer sends a request to the server, and passes the answer on to the client. It returns false if
// the connection must not be used again.
func (x *live) answer(ctx context.Context, req *http.Request) bool {
	asked := transport.Request{
		Path:   req.URL.EscapedPath(),
		Query:  req.URL.Query(),
		Accept: req.Header.Get("Accept"),
		Status: statusOf,
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
	if watch && resp.StatusCode == http.StatusOK && resp.MediaType == jsonMediaType {
		return x.stream(ctx, resp)
	}
	return x.whole(ctx, resp, !watch && req.URL.EscapedPath() == x.path)
}

// failed passes an error on to the client: a Status of the server, or the end of the connection.
func (x *live) failed(ctx context.Context, err error) bool {
	if refusal, ok := errors.AsType[*apierrors.StatusError](err); ok {
		s := refusal.ErrStatus
		body, err := json.Marshal(&s)
		if err != nil {
			return x.end(cut) // unreachable: a Status can be encoded
		}
		x.log.add(x.exchange, x.reduce.status(&s))
		return x.sendLast(ctx, response(int(s.Code), jsonMediaType, body))
	}
	x.log.unreachable(err)
	var dial *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return x.end(reset)
	case x.fresh && errors.As(err, &dial) && dial.Op == "dial" && time.Since(x.log.began)-x.asked < time.Second:
		return x.end(refused)
	}
	return x.end(cut)
}

// maxWhole is the largest number of bytes that are read of an answer that is not a list. There is a
// limit, because a proxy may have sent the answer.
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
		return x.broken(ctx, data, err)
	}
	contentType := cmp.Or(resp.Header.Get("Content-Type"), resp.MediaType)
	if isList && resp.StatusCode == http.StatusOK {
		x.log.add(x.exchange, x.reduce.list(contentType, data))
	} else {
		x.log.add(x.exchange, &whole{code: resp.StatusCode, contentType: contentType, size: len(data)})
	}
	return x.sendLast(ctx, response(resp.StatusCode, contentType, data))
}

// broken passes on an answer that broke off. The trace shows it as a watch, in chunks.
func (x *live) broken(ctx context.Context, data []byte, err error) bool {
	x.log.add(x.exchange, begun)
	answer := []byte(chunkedHead)
	if len(data) > 0 {
		x.log.add(x.exchange, begunList)
		answer = append(answer, chunk(data)...)
	}
	return x.send(ctx, answer) && x.end(howEnded(err))
}

// send writes to the client, and waits until the client has taken the bytes. It returns false if
// the client closes the connection instead.
func (x *live) send(ctx context.Context, data []byte) bool {
	_, _ = x.conn.Write(data) // an error does not matter: Settle notices a client that has hung up
	return x.conn.Settle(ctx) || x.end(hungUp)
}

// sendLast sends the last bytes of an answer. It ends the exchange first, so that the exchange is
// over before the client can send its next request.
func (x *live) sendLast(ctx context.Context, data []byte) bool {
	x.log.add(x.exchange, finished)
	return x.send(ctx, data)
}

// end ends the exchange, and ends the client's connection in the way in which the server's
// connection ended. It always returns false, because the connection is over.
func (x *live) end(how ending) bool {
	x.log.add(x.exchange, how)
	if how == reset {
		x.conn.Reset()
	}
	if how == refused {
		x.conn.Refuse() // so that the client waits as it will in a replay
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

// chunkedHead is the head of a watch. It has the same bytes as in a replay of a trace.
const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: " + jsonMediaType + "\r\nTransfer-Encoding: chunked\r\n\r\n"

// response returns a whole answer, with the same bytes as in a replay of a trace.
func response(code int, contentType string, body []byte) []byte {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", code, http.StatusText(code), contentType, len(body))
	return append([]byte(head), body...)
}

func chunk(data []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }

// stream passes a watch on, piece by piece.
func (x *live) stream(ctx context.Context, resp *transport.Response) bool {
	x.log.add(x.exchange, begun)
	if !x.send(ctx, []byte(chunkedHead)) {
		return false
	}
	var event []byte // its pieces so far
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			if !x.log.turn(x.exchange, ctx.Done()) {
				return x.end(hungUp)
			}
			// A trace has a chunk for each event, so the client gets a chunk for each event, too.
			n, ends := nextEvent(rest)
			piece := rest[:n]
			rest = rest[n:]
			if event = append(event, piece...); ends {
				x.log.add(x.exchange, x.reduce.event(event))
				event = event[:0]
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
		if len(event) > 0 {
			x.log.add(x.exchange, begunEvent)
		}
		if !errors.Is(err, io.EOF) {
			return x.end(howEnded(err))
		}
		x.log.add(x.exchange, eof)
		return x.send(ctx, []byte(lastChunk))
	}
}

const lastChunk = "0\r\n\r\n"
