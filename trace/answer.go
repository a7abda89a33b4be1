package trace

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The server's lines. A whole answer, or the beginning of one, goes to the newest
// request that has no full answer. A continuation goes to the newest request
// whose answer has begun.
type (
	// list is a whole response: its objects, and the list's own version and continue
	// token.
	list struct {
		of             resource
		version, token string
		words          words
		items          []jsonObject
	}

	// reply is a whole response.
	reply struct {
		code        int
		contentType string
		retryAfter  string
		body        []byte
	}

	// open is the head of a response whose body follows in chunks.
	open struct {
		contentType string
		gzip        bool
	}

	// chunk is one chunk of such a body, or several chunks if it is split.
	chunk struct {
		data   []byte
		split  []int // byte offsets, ascending
		event  bool  // an event, which only a watch can have
		length int   // how many bytes of data are the event's length, which a WebSocket leaves out
		binary bool  // a WebSocket sends it as a binary message
	}

	// bare holds bytes that are sent without the framing of a chunk.
	bare struct{ data []byte }

	eof     struct{} // the final chunk
	upgrade struct{} // the head of a WebSocket
	closing struct { // the end of a WebSocket
		code   uint16
		reason string
	}
	hang   struct{} // pings are not answered from now on
	cut    struct{} // the end of the connection
	reset  struct{} // the end of the connection by RST
	refuse struct{} // the next dial fails
)

func parseAnswer(text string, of resource) (stimulus, error) {
	word, rest, _ := strings.Cut(text, " ")
	s, err := parseAnswerWord(word, rest, of)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	return s, nil
}

func parseAnswerWord(word, rest string, of resource) (stimulus, error) {
	switch word {
	case "ADDED", "MODIFIED", "DELETED":
		return parseEvent(word, rest, of)
	case "BOOKMARK":
		return parseBookmark(rest, of)
	case "ERROR":
		return parseErrorEvent(rest, of)
	case "raw", "wire":
		return parseBytes(word, rest, of)
	}
	if bare := map[string]stimulus{"eof": eof{}, "cut": cut{}, "reset": reset{}, "refuse": refuse{}, "101": upgrade{}, "hang": hang{}}[word]; bare != nil {
		if rest != "" {
			return nil, fmt.Errorf("nothing can follow, and there is %q", rest)
		}
		return bare, nil
	}
	switch word {
	case "close":
		return parseClose(rest)
	case "rst":
		code, err := parseErrCode(rest)
		return rst{code}, err
	case "goaway":
		code, err := parseErrCode(rest)
		return goAway{code}, err
	}
	code, err := parseCode(word)
	if err != nil {
		return nil, fmt.Errorf("not a line of the server: want a status, an event, raw, wire, eof, close, rst, goaway, hang, cut, reset or refuse")
	}
	return parseResponse(code, rest, of)
}

func parseCode(text string) (int, error) {
	code, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || code < 100 {
		return 0, fmt.Errorf("%q is not a status code", text)
	}
	return code, nil
}

func parseResponse(code int, rest string, of resource) (stimulus, error) {
	w, err := parseWords(rest, "rv", "continue", "retry-after")
	if err != nil {
		return nil, err
	}
	if code < 200 || code == http.StatusNoContent || code == http.StatusNotModified {
		return nil, errors.New("a response with that status has no body")
	}
	form := ""
	if len(w.plain) > 0 {
		form = w.plain[0]
	}
	switch {
	case code == 200 && form == "list":
		return parseList(w, of)
	case code == 200 && (rest == "watch" || rest == "watch gzip"):
		_, contentType := of.encoding.mediaTypes()
		return open{contentType: contentType, gzip: rest == "watch gzip"}, nil
	case w.has("rv"), w.has("continue"):
		return nil, fmt.Errorf("rv and continue belong to a list")
	case form == "body":
		if err := w.count(3, `body "content type" "bytes"`); err != nil {
			return nil, err
		}
		r := &reply{code: code, contentType: w.plain[1], body: []byte(w.plain[2]), retryAfter: w.options["retry-after"]}
		return r, w.noJSON()
	}
	if code == 200 {
		return nil, fmt.Errorf("want 200 list, 200 watch or 200 body")
	}
	if err := w.count(2, `Reason "message"; the reason may be -`); err != nil {
		return nil, err
	}
	status, err := statusOf(code, w.plain[0], w.plain[1], w.json)
	if err != nil {
		return nil, err
	}
	contentType, _ := of.encoding.mediaTypes()
	body, err := of.encoding.encode(status)
	return &reply{code: code, contentType: contentType, body: body, retryAfter: w.options["retry-after"]}, err
}

const mediaType = "application/json"

func parseList(w words, of resource) (stimulus, error) {
	if err := w.count(1, "list rv=V [continue=T]"); err != nil {
		return nil, err
	}
	if !w.has("rv") || w.has("retry-after") {
		return nil, fmt.Errorf("want list rv=V [continue=T]")
	}
	// The body is made when the items are known, but an error in it is returned now.
	if _, err := listOf(of, "", "", nil, w.json); err != nil {
		return nil, err
	}
	return &list{of: of, version: w.options["rv"], token: w.options["continue"], words: w}, nil
}

func parseEvent(typ, rest string, of resource) (stimulus, error) {
	w, err := parseWords(rest, "uid", "split")
	if err != nil {
		return nil, err
	}
	obj, err := w.object()
	if err != nil {
		return nil, err
	}
	return w.event(of, typ, obj.withKind(of))
}

func parseBookmark(rest string, of resource) (stimulus, error) {
	w, err := parseWords(rest, "split")
	if err != nil {
		return nil, err
	}
	if err := w.count(1, "BOOKMARK @V"); err != nil {
		return nil, err
	}
	version, ok := strings.CutPrefix(w.plain[0], "@")
	if !ok {
		return nil, fmt.Errorf("want BOOKMARK @V")
	}
	obj, err := bookmarkOf(of, version, w.json)
	if err != nil {
		return nil, err
	}
	return w.event(of, "BOOKMARK", obj)
}

func parseErrorEvent(rest string, of resource) (stimulus, error) {
	w, err := parseWords(rest, "split")
	if err != nil {
		return nil, err
	}
	if err := w.count(3, `ERROR code Reason "message"`); err != nil {
		return nil, err
	}
	code, err := parseCode(w.plain[0])
	if err != nil {
		return nil, err
	}
	status, err := statusOf(code, w.plain[1], w.plain[2], w.json)
	if err != nil {
		return nil, err
	}
	return w.event(of, "ERROR", status)
}

// event makes an event of a watch, which is one chunk unless it is split.
func (w *words) event(of resource, typ string, obj jsonObject) (stimulus, error) {
	c, err := of.encoding.event(typ, obj)
	if err != nil {
		return nil, err
	}
	return c, c.splitAt(w.options["split"])
}

func parseBytes(word, rest string, of resource) (stimulus, error) {
	w, err := parseWords(rest, "split")
	if err != nil {
		return nil, err
	}
	if err := w.noJSON(); err != nil {
		return nil, err
	}
	if err := w.count(1, `the bytes, in quotes`); err != nil {
		return nil, err
	}
	if w.plain[0] == "" {
		return nil, fmt.Errorf("no bytes") // an empty chunk would be the final one
	}
	if word == "wire" {
		if w.has("split") {
			return nil, fmt.Errorf("split has no meaning here: write two lines")
		}
		return &bare{data: []byte(w.plain[0])}, nil
	}
	c := &chunk{data: []byte(w.plain[0]), binary: of.encoding != jsonEncoding}
	return c, c.splitAt(w.options["split"])
}

// splitAt sets the offsets at which the data is cut, such as "40" or "1,40".
func (c *chunk) splitAt(offsets string) error {
	if offsets == "" {
		return nil
	}
	last := 0
	for text := range strings.SplitSeq(offsets, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n <= last || n >= len(c.data) {
			return fmt.Errorf("split=%s: want ascending numbers from 1 to %d", offsets, len(c.data)-1)
		}
		c.split = append(c.split, n)
		last = n
	}
	return nil
}

// parts returns the pieces of the data that are written one by one, without the
// first bytes.
func (c *chunk) parts(without int) ([][]byte, error) {
	var parts [][]byte
	data, last := c.data[without:], 0
	for _, at := range append(slices.Clone(c.split), len(data)) {
		if at <= last && len(c.split) > 0 {
			return nil, fmt.Errorf("split: the message has %d bytes", len(data))
		}
		parts = append(parts, data[last:at])
		last = at
	}
	return parts, nil
}

func (w *words) has(option string) bool {
	_, ok := w.options[option]
	return ok
}

func withNewline(o jsonObject) []byte { return append(o.encode(), '\n') }
