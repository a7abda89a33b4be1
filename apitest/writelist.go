package apitest

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// listChunk is how many bytes of a list are gathered for one write, and the size from which kube-apiserver compresses a
// list for a client that accepts it. Watches are never compressed.
const listChunk = 128 << 10

// writeList sends a list without ever holding all of it: listChunk bytes and one object at the most.
func writeList(w http.ResponseWriter, req *http.Request, f format, p *page) {
	if _, ok := f.(yamlFormat); ok {
		writeYAML(w, http.StatusOK, listAsJSON(f, p))
		return
	}
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
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Add("Vary", "Accept-Encoding")
			zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
			if err != nil {
				// unreachable: BestSpeed is a level.
				panic("apitest: " + err.Error())
			}
			defer func() { _ = zip.Close() }() // it fails only if the client hung up
			out = zip
		}
		if _, err := out.Write(b); err != nil {
			return // the client hung up
		}
		b = b[:0]
	}
	_, _ = out.Write(f.listTail(b)) // as above
}

func acceptsGzip(req *http.Request) bool {
	for clause := range strings.SplitSeq(strings.Join(req.Header.Values("Accept-Encoding"), ","), ",") {
		if name, _, _ := strings.Cut(clause, ";"); strings.TrimSpace(name) == "gzip" {
			return true
		}
	}
	return false
}
