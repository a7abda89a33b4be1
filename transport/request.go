package transport

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is a GET.
type Request struct {
	// Path is absolute and already escaped; it is appended to the path of
	// Config.Server. [EscapePath] makes one of plain segments.
	Path string

	// Query is encoded sorted by key, so that equal requests look equal in logs.
	Query url.Values

	// Accept is the media type asked for. If empty, application/json.
	Accept string

	// Status decodes the Status in the body of an error, if Accept has formats other
	// than JSON. It returns an error for a body that it cannot read, which may then be
	// JSON.
	Status func(body []byte) (metav1.Status, error)

	// Header is sent too. Its Accept and User-Agent are ignored; its Authorization,
	// if any, replaces that of the Config.
	Header http.Header
}

// Response is an answer with a 2xx status.
type Response struct {
	// Body is never nil. Close it; read it to io.EOF first if the connection is to
	// be used again (HTTP/1.1).
	Body io.ReadCloser

	// MediaType is that of Content-Type, in lower case and without parameters.
	// If the server named none, application/json.
	MediaType string

	// StatusCode is the status, 200 to 299.
	StatusCode int

	// Header is the response's header.
	Header http.Header

	exchange *exchange
}

const jsonMediaType = "application/json"

// UnexpectedContent closes Body and returns an error that says what came instead
// of what the caller can read: the status, the Content-Type and the first bytes. It
// is for a MediaType that the caller does not know.
func (r *Response) UnexpectedContent() error {
	defer r.Body.Close()
	defer r.exchange.hurry().Stop()
	return r.exchange.fail(&UnexpectedContentError{
		StatusCode:  r.StatusCode,
		ContentType: string(r.exchange.redactWhole([]byte(r.Header.Get("Content-Type")))),
		Head:        string(r.exchange.quote(readHead(r.Body, maxHead+r.exchange.longestSecret()), maxHead)),
	})
}

// EscapePath joins segments to an absolute path in which each one is escaped, so
// that no name can reach another resource.
func EscapePath(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// checkPath refuses a path that would not be sent as it stands, or that servers
// and proxies may understand differently.
func checkPath(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("path %q is not absolute", path)
	case strings.ContainsAny(path, "?#"):
		return fmt.Errorf("path %q has a query or a fragment: use Request.Query", path)
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			return fmt.Errorf("path %q is not escaped: %w", path, err)
		}
		if plain == "." || plain == ".." {
			return fmt.Errorf("path %q has a dot segment", path)
		}
	}
	return nil
}

// mediaType returns the media type of a Content-Type header. A server that names
// none is taken to send JSON, as client-go does.
func mediaType(contentType string) string {
	if strings.TrimSpace(contentType) == "" {
		return jsonMediaType
	}
	if mt, _, err := mime.ParseMediaType(contentType); err == nil {
		return mt
	}
	// Broken parameters do not make the type itself unknown.
	mt, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(mt))
}
