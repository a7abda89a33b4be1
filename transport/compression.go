package transport

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// wantsGzip says whether to ask for gzip, by the rules of [Config.Gzip].
func wantsGzip(cfg Config, server endpoint) bool {
	if cfg.Gzip != nil {
		return *cfg.Gzip
	}
	return cfg.Dial == nil && cfg.RoundTripper == nil && !server.isLocal()
}

// decompress returns the body with its content decompressed, and removes the headers
// that are not true of that any more. A read hook counts the bytes as they arrive,
// compressed.
func (x *exchange) decompress(header http.Header, body io.ReadCloser) (io.ReadCloser, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		header.Del("Content-Encoding")
		header.Del("Content-Length")
		return &gzipBody{ReadCloser: body, exchange: x, buffered: bufio.NewReader(body)}, nil
	default:
		return nil, fmt.Errorf("the answer has the Content-Encoding %.50q, which was not asked for and cannot be read: only gzip can", encoding)
	}
}

// gzipBody decompresses a body while it is read. It holds only the 32 KiB to which gzip
// may refer back, however much the answer grows; whoever reads bounds the rest. It
// reads no more than it needs, so that whatever the server has flushed can be read.
//
// A body may consist of several gzip files, which are called members: kube-apiserver sends each
// event of a watch as one. What is in a member is read when the member ends, and not when the
// next begins, which may be much later.
type gzipBody struct {
	io.ReadCloser

	exchange *exchange
	buffered *bufio.Reader // the body; it holds bytes of the next member when one ends
	plain    gzip.Reader
	within   bool // plain is within a member
	err      error
}

func (b *gzipBody) Read(p []byte) (n int, err error) {
	for n == 0 && b.err == nil && len(p) > 0 {
		if !b.within {
			err = b.begin()
			b.within = err == nil
		} else if n, err = b.plain.Read(p); err == io.EOF { //nolint:errorlint // only the bare one is an end
			b.within, err = false, nil
		}
		b.err = b.explain(err)
	}
	return n, b.err
}

// begin waits for the header of the next member. It ignores zeros before it, as gzip does: some
// servers pad their files.
func (b *gzipBody) begin() error {
	for {
		c, err := b.buffered.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			break
		}
	}
	_ = b.buffered.UnreadByte() // there is one: it was read
	if err := b.plain.Reset(b.buffered); err != nil {
		return err
	}
	b.plain.Multistream(false)
	return nil
}

// explain says that the compression is broken, rather than what is compressed. Errors
// of the body below name the request already.
func (b *gzipBody) explain(err error) error {
	var known *RequestError
	if err == nil || err == io.EOF || errors.As(err, &known) { //nolint:errorlint // only the bare one is an end
		return err
	}
	err = fmt.Errorf("decompress the answer: %w", err)
	if !errors.Is(err, io.ErrUnexpectedEOF) { // what was cut may be right so far
		err = malformed{err}
	}
	return b.exchange.fail(err)
}
