// Package target says how requests and durations are written in a trace.
package target

import (
	"net/http"
	"strings"
	"time"
)

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

// Duration leaves out the units that are zero: 5m, where Go says 5m0s.
func Duration(d time.Duration) string {
	text := d.String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}
