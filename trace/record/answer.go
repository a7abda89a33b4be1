package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/transport"
)

// answer hands the server's answer on. It returns false if the connection is over.
func (x *live) answer(ctx context.Context, req *http.Request) bool {
	resp, err := x.upstream.Get(ctx, transport.Request{
		Path:   req.URL.EscapedPath(),
		Query:  req.URL.Query(),
		Accept: req.Header.Get("Accept"),
	})
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
		return x.stream(ctx, resp.Body)
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
		x.log.add(x.exchange, x.reduce.status(&s))
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
		return x.broken(ctx, data, err)
	}
	contentType := resp.Header.Get("Content-Type")
	if contentType == "" {
		contentType = resp.MediaType
	}
	if isList && resp.StatusCode == http.StatusOK && resp.MediaType == jsonMediaType {
		x.log.add(x.exchange, x.reduce.list(contentType, data))
	} else {
		x.log.add(x.exchange, x.reduce.other(resp.StatusCode, contentType, data))
	}
	return x.sendLast(ctx, response(resp.StatusCode, contentType, data))
}

// broken hands on an answer that broke off: a trace can only say that in chunks.
func (x *live) broken(ctx context.Context, data []byte, err error) bool {
	x.log.add(x.exchange, head{})
	answer := []byte(chunkedHead)
	if len(data) > 0 {
		x.log.add(x.exchange, x.reduce.begunList(data))
		answer = append(answer, chunk(data)...)
	}
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
const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: " + jsonMediaType + "\r\nTransfer-Encoding: chunked\r\n\r\n"

func response(code int, contentType string, body []byte) []byte {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", code, http.StatusText(code), contentType, len(body))
	return append([]byte(head), body...)
}

func chunk(data []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }
