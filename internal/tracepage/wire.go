package tracepage

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// sent takes what the client sent: a request, a header of it, ping, close or refused.
func (b *builder) sent(said string, rest []string) {
	method, target, _ := strings.Cut(said, " ")
	switch {
	case said == "ping":
		b.mark(Mark{Kind: "ping", To: "server", Text: "ping"})
	case said == "refused":
		b.mark(Mark{Kind: "end", To: "server", Text: "connect", Detail: "connection refused", Fault: true})
	case said == "close", strings.HasPrefix(said, "rst "):
		b.mark(Mark{Kind: "end", To: "server", Text: said, Detail: "by the client"})
		b.closeSpan(b.closing(rest))
	case strings.HasSuffix(method, ":"):
		b.Marks[b.asked].Detail += " · " + said
	default:
		text, detail := request(target)
		b.asked = len(b.Marks)
		b.spans = append(b.spans, span{from: b.asked, to: -1, lane: b.freeLane(), watch: strings.HasPrefix(text, "watch")})
		b.mark(Mark{Kind: "request", To: "server", Text: text, Detail: detail})
	}
}

// request says what a request is for, in the words of the protocol.
func request(target string) (text, detail string) {
	path, query, _ := strings.Cut(target, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return "GET", target
	}
	version, exact := q.Get("resourceVersion"), q.Get("resourceVersionMatch") == "Exact"
	var key string
	fields := slices.DeleteFunc(strings.Split(q.Get("fieldSelector"), ","), func(field string) bool {
		namespace, isNamespace := strings.CutPrefix(field, "metadata.namespace=")
		name, isName := strings.CutPrefix(field, "metadata.name=")
		switch {
		case isNamespace:
			key = short(namespace + "/" + key)
		case isName:
			key += name
		}
		return isNamespace || isName || field == ""
	})
	details := slices.DeleteFunc([]string{
		with("resourceVersion=", version), with("continue=", q.Get("continue")), with("limit=", q.Get("limit")),
		with("labels: ", q.Get("labelSelector")), with("fields: ", strings.Join(fields, ",")), with("shard: ", q.Get("shardSelector")),
	}, func(s string) bool { return s == "" })
	detail = strings.Join(details, " ")
	switch {
	case q.Get("sendInitialEvents") == "true":
		text, detail = "watch", "sendInitialEvents=true "+detail
	case q.Get("watch") == "true":
		text = "watch"
		if version == "" {
			detail = "without a version " + detail
		}
	case key != "" && exact:
		text, detail = "history check", key+" exactly at "+version
	case key != "":
		text, detail = "refetch", key
	case exact && q.Get("limit") == "1":
		text, detail = "history check", "exactly at "+version
	case exact:
		text, detail = "verification", "exactly at "+version
	case q.Get("continue") != "":
		text = "next page"
	case version == "":
		text, detail = "list", strings.TrimSpace("most recent "+detail)
	default:
		text = "list"
	}
	detail = cmp.Or(detail, path[strings.LastIndex(path, "/")+1:])
	return text, strings.TrimSpace(detail)
}

// unquoted returns what a Status says, without the quotes of the message, and without the details
// that follow it in JSON.
func unquoted(text string) string {
	before, message, _ := strings.Cut(text, `"`)
	quoted, err := strconv.QuotedPrefix(`"` + message)
	if err != nil {
		return text
	}
	rest, _, _ := strings.Cut(message[len(quoted)-1:], " {")
	if message, err = strconv.Unquote(quoted); err != nil {
		return text
	}
	return before + message + rest
}

func with(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value
}

// stimulus takes a line of the author: what the server says, or a command.
func (b *builder) stimulus(text string) {
	said, isServer := strings.CutPrefix(text, "< ")
	word, rest, _ := strings.Cut(text, " ")
	if !isServer {
		if word == "start" || word == "stop" || word == "restart" {
			b.mark(Mark{Kind: "command", Text: word, Detail: rest})
		}
		return
	}
	word, rest, _ = strings.Cut(said, " ")
	m := Mark{Kind: "event", To: "client", Text: word, Detail: rest}
	at := b.newest(true)
	switch {
	case said == "refuse":
		b.mark(Mark{Kind: "note", To: "server", Text: "the next connection will be refused", Fault: true})
		return
	case word == "ADDED", word == "MODIFIED", word == "DELETED", word == "raw":
	case word == "BOOKMARK":
		m.Kind = "bookmark"
		if version, annotation, ok := strings.Cut(rest, ` {"metadata":{"annotations":{`); ok {
			m.Detail = version + " annotation " + strings.TrimSuffix(annotation, "}}}")
		}
	case word == "write": // in a trace of a server: what its author does there
		verb, object, _ := strings.Cut(rest, " ")
		m, at = Mark{Kind: "write", To: "server", Text: verb, Detail: object}, -1
	case word == "ERROR":
		m.Fault, m.Detail = true, unquoted(rest)
	case word == "hang":
		m = Mark{Kind: "note", To: "server", Text: "answers no more pings", Fault: true}
	case word == "eof":
		m = Mark{Kind: "end", To: "client", Text: "end", Detail: "clean close"}
	case word == "close":
		m.Kind, m.Detail = "end", "frame "+rest
	case word == "goaway":
		m = Mark{Kind: "note", To: "server", Text: "goaway", Detail: rest}
		at = -1
	case word == "rst":
		m = Mark{Kind: "end", To: "client", Text: "stream reset", Detail: rest, Fault: true}
		at = b.newest(false)
	case word == "cut", word == "reset":
		m = Mark{Kind: "end", To: "client", Text: "connection " + word, Fault: true}
		at = b.newest(false)
	case said == "200 watch", said == "101":
		m.Kind, m.Text, m.Detail, at = "answer", said, "", b.newest(false)
	case word == "wire":
		m.Kind, at = "answer", b.newest(false)
	default:
		m.Kind, at = "answer", b.newest(false)
		m.Fault = word != "200"
		if list, isList := strings.CutPrefix(rest, "list "); isList {
			m.Text, m.Detail = "200 list", strings.Replace(list, "rv=", "resourceVersion=", 1)
		} else if reason, message, ok := strings.Cut(rest, " "); ok && !strings.HasPrefix(rest, "body ") {
			m.Text, m.Detail = strings.TrimSuffix(word+" "+reason, " -"), unquoted(message)
		}
	}
	b.mark(m)
	if at < 0 {
		return
	}
	b.spans[at].started = true
	whole := m.Kind == "answer" && said != "200 watch" && said != "101" && word != "wire"
	if whole || m.Kind == "end" {
		b.closeSpan(at)
	}
}

// newest returns the newest request that is open, or the newest with a part of its answer; -1 if
// there is none.
func (b *builder) newest(started bool) int {
	for i, s := range slices.Backward(b.spans) {
		if s.to < 0 && (s.started || !started) {
			return i
		}
	}
	return -1
}

// closing returns the request that the client closes. If there are several, it is the list or the
// watch if another one follows, and otherwise the newest.
func (b *builder) closing(rest []string) int {
	newest, main := b.newest(false), slices.IndexFunc(b.spans, func(s span) bool { return s.to < 0 })
	for _, line := range rest {
		if line == "" || strings.IndexByte(">=!~", line[0]) < 0 {
			break
		}
		target, isRequest := strings.CutPrefix(line, "> GET ")
		if text, _ := request(target); isRequest && (text == "list" || strings.HasPrefix(text, "watch")) {
			return main
		}
	}
	return newest
}

// freeLane returns the first lane that no open request has.
func (b *builder) freeLane() int {
	for lane := 0; ; lane++ {
		if !slices.ContainsFunc(b.spans, func(s span) bool { return s.to < 0 && s.lane == lane }) {
			return lane
		}
	}
}

func (b *builder) closeSpan(at int) {
	if at >= 0 {
		b.spans[at].to = len(b.Marks) - 1
	}
}

// closeSpans ends what is open at the end of the run.
func (b *builder) closeSpans() {
	for at := b.newest(false); at >= 0; at = b.newest(false) {
		b.closeSpan(at)
	}
}
