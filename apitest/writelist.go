package apitest

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// listChunk is the number of bytes of a list that are collected for one write. It is also the size
// from which kube-apiserver compresses a list, if the client accepts that.
const listChunk = 128 << 10

// writeList sends a list in pieces. It holds at most listChunk bytes and one object in memory.
func writeList(w http.ResponseWriter, req *http.Request, f format, p *page) {
	w.Header().Set("Content-Type", f.contentType(false))
	out, zipped := io.Writer(w), false
	b := f.listHead(nil, p.meta, p.items)
	for i, r := range p.items {
		b = f.item(b, i, r)
		if len(b) < listChunk {
			continue
		}
		if !zipped && acceptsGzip(req) {
			zipped = true
			zip := newGzip(w)
			defer func() { _ = zip.Close() }() // it returns an error only if the client hung up
			out = zip
		}
		if _, err := out.Write(b); err != nil {
			return // the client hung up
		}
		b = b[:0]
	}
	_, _ = out.Write(f.listTail(b)) // if it returns an error, the client hung up
}

// newGzip says in the header that the body is compressed, and returns what compresses it.
func newGzip(w http.ResponseWriter) *gzip.Writer {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		// unreachable: BestSpeed is a level.
		panic("apitest: " + err.Error())
	}
	return zip
}

func acceptsGzip(req *http.Request) bool {
	for clause := range strings.SplitSeq(strings.Join(req.Header.Values("Accept-Encoding"), ","), ",") {
		if name, _, _ := strings.Cut(clause, ";"); strings.TrimSpace(name) == "gzip" {
			return true
		}
	}
	return false
}
