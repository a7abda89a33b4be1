// Package target reads the paths of collections, and writes requests and durations as a trace has
// them.
package target

import (
	"net/http"
	"net/url"
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
	return written(req.URL, query)
}

// Exactly returns the path and the sorted query of a request, with the timeoutSeconds that it has.
func Exactly(req *http.Request) string { return written(req.URL, req.URL.Query()) }

func written(of *url.URL, query url.Values) string {
	if len(query) == 0 {
		return of.EscapedPath()
	}
	return of.EscapedPath() + "?" + query.Encode()
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
