// Package target reads the paths of collections, and writes requests and durations as a trace has
// them.
package target

import (
	"net/http"
	"strings"
	"time"
)

// Of returns the path and the sorted query of a request. It replaces the value of timeoutSeconds by
// T, because the client chooses it at random.
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

// Duration returns d without the units that are zero: 5m, where Go has 5m0s.
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
