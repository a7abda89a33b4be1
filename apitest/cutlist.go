package apitest

import (
	"net/http"
)

// A cutWriter is the body of a list that is cut after a number of bytes.
type cutWriter struct {
	body
	cut  Cut
	left int64
	over bool
}

// cutList returns the writer for a list: a cutWriter if the list must be cut, and
// otherwise w.
func (f *faults) cutList(w http.ResponseWriter, req *http.Request) http.ResponseWriter {
	if spared(req) {
		return w
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listCuts) == 0 {
		return w
	}
	cut := *f.listCuts[0]
	f.listCuts = f.listCuts[1:]
	return &cutWriter{body: newBody(w), cut: cut, left: cut.After}
}

// Header implements [http.ResponseWriter].
func (o *cutWriter) Header() http.Header { return o.w.Header() }

// WriteHeader implements [http.ResponseWriter].
func (o *cutWriter) WriteHeader(code int) { o.w.WriteHeader(code) }

// Write passes on the bytes before the cut.
func (o *cutWriter) Write(b []byte) (int, error) {
	if o.over {
		return 0, errCut // the trailer of gzip
	}
	if int64(len(b)) <= o.left {
		o.left -= int64(len(b))
		return o.w.Write(b)
	}
	o.over = true
	if err := o.write(b[:o.left]); err != nil {
		return 0, err
	}
	if o.cut.Clean {
		return 0, errEnded
	}
	return 0, o.abort(o.cut.Reset)
}
