// Package target says how requests are written in a trace.
package target

import "net/http"

// Of is the path and the sorted query of a request. A timeoutSeconds is
// chosen at random, within a range that is for another test to check.
func Of(req *http.Request) string {
	query := req.URL.Query()
	if query.Has("timeoutSeconds") {
		query.Set("timeoutSeconds", "T")
	}
	if len(query) == 0 {
		return req.URL.EscapedPath()
	}
	return req.URL.EscapedPath() + "?" + query.Encode()
}
