package relay

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipFrom is the number of bytes above which an answer is compressed, and gzipLevel is how well:
// both are those of kube-apiserver.
const (
	gzipFrom  = 128 << 10
	gzipLevel = 1
)

// A reply is an answer that has an end. If the client takes gzip and the first write is long, it is
// compressed. Watches never are, because an event would wait in the compressor.
type reply struct {
	*body

	takesGzip   bool
	compressing chan struct{} // has one for each answer of the relay that is compressed
	begun       bool
	gzip        *gzip.Writer // nil: not compressed
}

func (r *Relay) newReply(w http.ResponseWriter, req *http.Request) *reply {
	// As kube-apiserver reads it: a gzip with a weight does not count.
	codings := strings.Split(req.Header.Get("Accept-Encoding"), ",")
	takesGzip := slices.ContainsFunc(codings, func(c string) bool { return strings.TrimSpace(c) == "gzip" })
	return &reply{body: newBody(w, answerTimeout), takesGzip: takesGzip, compressing: r.compressing}
}

// maxGzip is how many answers are compressed at a time. Others go as they are, because thousands of
// readers can list at once, or read slowly.
const maxGzip = 64

// gzipWriters are not in use. Each has about a megabyte.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzipLevel) // it is a level
	return w
}}

// Write implements [http.ResponseWriter].
func (r *reply) Write(b []byte) (int, error) {
	if !r.begun && r.takesGzip && len(b) > gzipFrom {
		select {
		case r.compressing <- struct{}{}:
			r.Header().Set("Content-Encoding", "gzip")
			r.Header().Add("Vary", "Accept-Encoding")
			r.gzip = gzipWriters.Get().(*gzip.Writer)
			r.gzip.Reset(r.body)
		default:
		}
	}
	r.begun = true
	if r.gzip != nil {
		return r.gzip.Write(b)
	}
	return r.body.Write(b)
}

// finish writes the end of what is compressed, and lifts the deadline.
func (r *reply) finish() {
	defer r.close()
	if r.gzip != nil {
		_ = r.gzip.Close() // an error is a client that hung up
		r.gzip.Reset(io.Discard)
		gzipWriters.Put(r.gzip)
		<-r.compressing
	}
}
