package transport

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads the Retry-After header (RFC 9110, section 10.2.3), in seconds,
// rounded up. It is 0 if there is none, or if it is neither a number nor a date, or
// is past. A date is compared with the response's own Date, since the two clocks
// are the same one.
func retryAfter(header http.Header) int32 {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return int32(min(max(seconds, 0), math.MaxInt32))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	seconds := math.Ceil(at.Sub(now).Seconds())
	return int32(min(max(seconds, 0), math.MaxInt32))
}
