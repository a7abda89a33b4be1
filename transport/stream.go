package transport

import (
	"context"
	"io"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/transport/frames"
)

// Frame is one message of a watch: the bytes of one event.
type Frame struct {
	// Data is valid until the next call of Next. Where it begins and ends, the format
	// says: see [Request.Frames].
	Data []byte

	exchange *exchange // nil in a Frame that another package made
}

// Redact returns text, which is some of Data, without the credential that the
// request was sent with, so that an error may quote it: a debugging proxy may have
// sent it back. Redact first and cut afterwards. It may return text itself.
func (f Frame) Redact(text []byte) []byte {
	if f.exchange == nil {
		return text
	}
	return f.exchange.redact(text)
}

// RedactStatus takes the credential out of every text of a Status that was decoded from Data,
// and cuts what is too long.
func (f Frame) RedactStatus(status *metav1.Status) {
	s := &secrets{}
	if f.exchange != nil {
		s = &f.exchange.secrets
	}
	s.redactStatus(status)
}

// Stream is a watch. It is pulled by one goroutine at a time; Close may be called
// by any, at any time, more than once.
type Stream interface {
	// Next returns the next frame as soon as its last byte has arrived. It waits
	// until then, or until the stream is closed or its context ends.
	//
	// At the end it returns io.EOF if the server ended the watch between two frames, as it does
	// when the watch's timeout is over. Anything else is a [RequestError]: io.ErrUnexpectedEOF if
	// the connection was cut, even between two frames, or a WebSocket was closed but not cleanly;
	// an error that says that the stream was closed; the context's error; a [frames.Error]. The
	// error stays: every later call returns it, except after a [frames.TooLargeError], which
	// concerns one frame only.
	Next() (Frame, error)

	// Close ends the stream, and a pending Next with it.
	Close() error

	// MediaType is the StreamMediaType of the frames' format. Over a WebSocket, whose
	// handshake names none, it is that of the last frame if several were asked for, and
	// before the first one "".
	MediaType() string
}

// WatchTransport is how the frames of watches travel. Lists always go over HTTP. The
// values below are all there are.
type WatchTransport interface {
	// String returns the name used in messages.
	String() string

	// watcher returns what opens the watches of a Client. All else of the Client is
	// ready.
	watcher(c *Client, cfg Config) watcher
}

// The WebSocket, which is 0.3 MB, is not in the binary of a program that does not name
// it.
var (
	// WatchHTTP is the default: the body of a response that does not end. With HTTP/2 many
	// watches share a connection.
	WatchHTTP WatchTransport = overHTTP{}

	// WatchWebSocket is the messages of a WebSocket, for proxies that hold back a body
	// until it is whole. Each watch takes a connection of HTTP/1.1, whatever Protocol
	// says, and asks for the same path and query as over HTTP. If the handshake is
	// answered as if nobody understood it, watches go over HTTP, and Config.OnProblem is told.
	WatchWebSocket WatchTransport = overWebSocket{}
)

// watcher opens the watches of one Client.
type watcher interface {
	watch(ctx context.Context, req Request) (Stream, error)

	// close does what [Client.Close] does, for connections of its own.
	close()
}

// overHTTP is [WatchHTTP].
type overHTTP struct{}

func (overHTTP) String() string { return "HTTP" }

func (overHTTP) watcher(c *Client, cfg Config) watcher { return newBodies(c, cfg) }

// bodies opens watches over HTTP, on the connections of all other requests.
type bodies struct {
	client *Client
	kind   kind
}

func newBodies(c *Client, cfg Config) *bodies {
	return &bodies{c, kind{op: "watch", via: c.connections, gzip: cfg.Gzip != nil && *cfg.Gzip}}
}

func (b *bodies) close() {}

// watch opens a watch that is the body of a response.
func (b *bodies) watch(ctx context.Context, req Request) (Stream, error) {
	kind := b.kind
	if req.Query.Get("sendInitialEvents") == "true" {
		kind.gzip = b.client.gets.gzip // the bytes are those of a list
	}
	ctx, x := b.client.begin(ctx, kind, req)
	resp, err := x.do(ctx)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, resp.unexpected(nil)
	}
	return newBodyStream(resp, req.Frames, b.client.maxFrame)
}

// bodyStream is a body of frames.
type bodyStream struct {
	frames    *frames.Reader
	body      io.Closer
	exchange  *exchange
	mediaType string
}

// newBodyStream returns the frames of a response, which must be in one of the formats.
func newBodyStream(resp *Response, formats []frames.Format, limit int) (Stream, error) {
	i := slices.IndexFunc(formats, func(f frames.Format) bool { return f.StreamMediaType() == resp.MediaType })
	if i < 0 {
		var expected []string
		for _, f := range formats {
			expected = append(expected, f.StreamMediaType())
		}
		return nil, resp.unexpected(expected)
	}
	return &bodyStream{
		frames:    frames.NewReader(resp.Body, formats[i].NewFramer(), limit, resp.exchange.quote),
		body:      resp.Body,
		exchange:  resp.exchange,
		mediaType: resp.MediaType,
	}, nil
}

func (s *bodyStream) Next() (Frame, error) {
	if ended := s.exchange.ended(); ended != nil {
		return Frame{}, s.exchange.fail(ended)
	}
	data, err := s.frames.Next()
	if err != nil {
		return Frame{}, s.exchange.failRead(err)
	}
	return Frame{Data: data, exchange: s.exchange}, nil
}

// Ready reports whether Next is known to return without waiting for the server, as a chunked body
// may bring several frames at once. It reads nothing, and leaves the last frame valid. It is called
// by whoever calls Next.
func (s *bodyStream) Ready() bool { return s.frames.Ready() }

// Close reports nothing: a watch is cut off in its middle, as a rule, and what the
// body says of that is of no use to the caller.
func (s *bodyStream) Close() error {
	_ = s.body.Close()
	return nil
}

func (s *bodyStream) MediaType() string { return s.mediaType }
