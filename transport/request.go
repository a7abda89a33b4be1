package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/transport/frames"
)

// Request says what to ask for.
type Request struct {
	// Path is absolute and already escaped; it is appended to the path of
	// Config.Server. [EscapePath] makes one of plain segments.
	Path string

	// Query is encoded sorted by key, so that equal requests look equal in logs.
	Query url.Values

	// Accept is the media type asked for. If empty, application/json.
	Accept string

	// Frames are the formats that a watch may come in, in order of preference: those of Accept. The
	// Content-Type of the answer must be the StreamMediaType of one of them, whatever Accept says.
	// They find the events in what arrives. A watch needs one at least; nothing else has any use
	// for them. Over a WebSocket, which names no format, only the first of those that are text and
	// the first of the others can be told apart.
	Frames []frames.Format

	// Status decodes the Status in the body of an error, if Accept has formats other
	// than JSON. If it returns an error, the body is read as JSON.
	Status func(body []byte) (metav1.Status, error)

	// Header is sent too. Its Accept and User-Agent are ignored; its Authorization,
	// if any, replaces that of the Config.
	Header http.Header
}

// newRequest returns the request that is sent, without the credential.
func (x *exchange) newRequest(ctx context.Context) (*http.Request, error) {
	req := x.request
	if err := checkPath(req.Path); err != nil {
		return nil, err
	}
	hr, err := x.client.newRequest(ctx, x.method, req.Path, req.Query.Encode(), req.Header, x.contentReader())
	if err != nil {
		return nil, err
	}
	hr.Header.Set("Accept", jsonMediaType)
	if req.Accept != "" {
		hr.Header.Set("Accept", req.Accept)
	}
	if x.gzip && hr.Header.Get("Accept-Encoding") == "" {
		hr.Header.Set("Accept-Encoding", "gzip")
	}
	return hr, nil
}

// newRequest returns a request to the server, without the credential. It has what all requests of
// the Client have in their headers. Of the given header it ignores the User-Agent.
func (c *Client) newRequest(ctx context.Context, method, path, query string, header http.Header, body io.Reader) (*http.Request, error) {
	target := c.server.url.String() + path
	if query != "" {
		target += "?" + query
	}
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, header.Clone())
	r.Header.Set("User-Agent", c.userAgent)
	impersonate(r.Header, c.asUser)
	return r, nil
}

// contentReader returns the body of the request, nil if it has none.
func (x *exchange) contentReader() io.Reader {
	if x.content == nil {
		return nil
	}
	return bytes.NewReader(x.content) // net/http can take one of these twice
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

// UnexpectedContent closes Body and returns an error that says what came: the status,
// the Content-Type and the first bytes. It is for a MediaType that the caller does not
// know.
func (r *Response) UnexpectedContent() error {
	accept := cmp.Or(r.exchange.request.Accept, jsonMediaType)
	return r.unexpected(strings.Split(accept, ","))
}

// unexpected is UnexpectedContent with the media types that were expected.
func (r *Response) unexpected(expected []string) error {
	defer r.Body.Close()
	defer r.exchange.hurry().Stop()
	return r.exchange.fail(&UnexpectedContentError{
		StatusCode:  r.StatusCode,
		ContentType: string(r.exchange.redactWhole([]byte(r.Header.Get("Content-Type")))),
		Head:        string(r.exchange.quote(readHead(r.Body, maxHead+r.exchange.longestSecret()), maxHead)),
		Expected:    expected,
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

// checkPath refuses a path that would not be sent as it stands, or that servers and
// proxies may understand in different ways.
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

// Impersonation is another user as whom requests are made. The server must allow the
// credential's own user to do that.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
type Impersonation struct {
	// User is the name. It is required if any of the others is set.
	User string

	// UID is the identifier.
	UID string

	// Groups are the only ones that the user is in, except that the server may add
	// system:authenticated.
	Groups []string

	// Extra are further attributes. Their keys are taken in lower case.
	Extra map[string][]string
}

// The headers of an impersonation.
const (
	impersonateUser  = "Impersonate-User"
	impersonateUID   = "Impersonate-Uid"
	impersonateGroup = "Impersonate-Group"
	impersonateExtra = "Impersonate-Extra-"
)

// header returns what is sent, nil for nobody.
func (i Impersonation) header() (http.Header, error) {
	if i.User == "" {
		if i.UID != "" || len(i.Groups) > 0 || len(i.Extra) > 0 {
			return nil, errors.New("Impersonate has a UID, groups or extra attributes, but no User: give the name of the user") //nolint:staticcheck // Impersonate is the name of a field
		}
		return nil, nil
	}
	h := http.Header{impersonateUser: {i.User}}
	if i.UID != "" {
		h[impersonateUID] = []string{i.UID}
	}
	if len(i.Groups) > 0 {
		h[impersonateGroup] = slices.Clone(i.Groups)
	}
	for _, key := range slices.Sorted(maps.Keys(i.Extra)) {
		if key == "" {
			return nil, errors.New("Impersonate.Extra has a key that is empty")
		}
		name := http.CanonicalHeaderKey(impersonateExtra + escapeHeaderKey(key))
		h[name] = append(h[name], i.Extra[key]...)
	}
	for name, values := range h { // which of several is named does not matter
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return nil, fmt.Errorf("the value of %s has a control character, which no header can carry", name)
			}
		}
	}
	return h, nil
}

// impersonate adds the headers of an impersonation to a request, unless the caller gave
// some.
func impersonate(to, as http.Header) {
	if _, own := to[impersonateUser]; own {
		return
	}
	maps.Copy(to, as)
}

// escapeHeaderKey encodes the bytes of a key that cannot be in the name of a header
// (RFC 9110, section 5.6.2), and the percent sign, which the server decodes.
func escapeHeaderKey(key string) string {
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

const (
	modulePath = "github.com/relist-go/relist"
	// fallbackVersion is used when the build says nothing, as in the tests of this
	// module itself.
	fallbackVersion = "0.1.0-devel"
)

// defaultUserAgent names relist and its version, so that an operator who finds it
// in an audit log knows what to look at.
func defaultUserAgent() string {
	info, _ := debug.ReadBuildInfo()
	return "relist/" + versionIn(info) + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"
}

// versionIn finds the version of this module in a program, as itself or as a
// dependency. A replaced dependency has that of its replacement.
func versionIn(info *debug.BuildInfo) string {
	if info == nil {
		return fallbackVersion
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != "(devel)" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return fallbackVersion
}
