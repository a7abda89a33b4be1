package apitest

import (
	"cmp"
	"net/http"
	"time"
)

// A LoggedRequest describes one request for Options.Log.
type LoggedRequest struct {
	Begin     time.Time
	Method    string
	URI       string // as it was sent: path and query
	Proto     string // "HTTP/2.0"
	UserAgent string
	Remote    string // the client's address

	// Began is true when the head of a watch's answer is sent. The request is logged again at its
	// end.
	Began bool
	// Status is the status code of the answer. It is 0 if the connection broke before the answer.
	Status int
	// Bytes is the length of the body until now. Messages of a WebSocket are not counted.
	Bytes int64
	Took  time.Duration
}

// logged is a ResponseWriter that remembers the status code, and counts the bytes of the body.
type logged struct {
	http.ResponseWriter
	log   func(LoggedRequest)
	entry LoggedRequest
	watch bool
}

// observe returns the ResponseWriter for the answer, and a function to call at its end.
func (s *Server) observe(w http.ResponseWriter, req *http.Request) (http.ResponseWriter, func()) {
	if s.opts.Log == nil {
		return w, func() {}
	}
	l := &logged{ResponseWriter: w, log: s.opts.Log, watch: isWatch(req), entry: LoggedRequest{
		Begin: time.Now(), Method: req.Method, URI: req.URL.RequestURI(), Proto: req.Proto, UserAgent: req.UserAgent(), Remote: req.RemoteAddr,
	}}
	return l, func() {
		l.entry.Took = time.Since(l.entry.Begin)
		l.log(l.entry)
	}
}

// WriteHeader implements [http.ResponseWriter].
func (l *logged) WriteHeader(code int) {
	if l.entry.Status == 0 {
		l.entry.Status = code
		if l.watch && code == http.StatusOK {
			began := l.entry
			began.Began, began.Took = true, time.Since(began.Begin)
			l.log(began)
		}
	}
	l.ResponseWriter.WriteHeader(code)
}

func (l *logged) Write(b []byte) (int, error) {
	l.entry.Status = cmp.Or(l.entry.Status, http.StatusOK)
	n, err := l.ResponseWriter.Write(b)
	l.entry.Bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (l *logged) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// upgraded notes that the connection has become a WebSocket.
func (l *logged) upgraded() {
	l.entry.Status = http.StatusSwitchingProtocols
	began := l.entry
	began.Began, began.Took = true, time.Since(began.Begin)
	l.log(began)
}
