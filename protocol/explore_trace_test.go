package protocol

import (
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/object"
)

// A path is printed as a golden trace, as docs/trace-format.md describes it. What that language
// cannot say (what happens to the server's storage, a sink that refuses, a timer that fires before
// another) is a comment. Whoever keeps the trace puts delays and deltas in by running it with
// -update.

// say adds a line, if a path is being printed.
func (w *world) say(format string, args ...any) {
	if w.lines != nil {
		*w.lines = append(*w.lines, fmt.Sprintf(format, args...))
	}
}

const resource = "> GET /api/v1/namespaces/default/configmaps?"

// sayEffect says what the client does.
func (w *world) sayEffect(eff Effect, s subject) {
	if w.lines == nil {
		return
	}
	switch eff := eff.(type) {
	case List:
		w.say("%s", resource+parameters("limit", limitText(eff.Limit), "resourceVersion", eff.Version))
	case Watch:
		initial, match := "", ""
		if eff.Initial {
			initial, match = "true", "NotOlderThan"
		}
		w.say("%s", resource+parameters("allowWatchBookmarks", "true", "resourceVersion", eff.Version,
			"resourceVersionMatch", match, "sendInitialEvents", initial, "timeoutSeconds", "T", "watch", "true"))
	case Refetch:
		selector, limit, match := "", "1", ""
		if eff.Key != "" {
			selector, limit = "metadata.namespace%3Ddefault%2Cmetadata.name%3D"+name(keyOf(eff.Key)), "2"
		}
		if eff.At != "" {
			match = "Exact"
		}
		w.say("%s", resource+parameters("fieldSelector", selector, "limit", limit, "resourceVersion", eff.At, "resourceVersionMatch", match))
	case ListMetadata:
		w.say("# The client asks for the metadata at %s.", eff.Version)
	case Cancel:
		if w.main.kind == watchRequest {
			w.say("> close")
		}
	case Apply:
		if text := [...]string{Add: "add", Update: "update", Delete: "delete", InferDelete: "delete, inferred", Resync: "", Resumed: ""}[eff]; text != "" && (eff != InferDelete || w.s.rules.SinkTells) {
			w.say("# %s: %s", keyTexts[s.key], text)
		}
	case Problem:
		w.say("! %s", strings.TrimSpace(eff.Class.String()+" "+eff.Key))
	}
}

// parameters joins those that are not empty.
func parameters(pairs ...string) string {
	var given []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			given = append(given, pairs[i]+"="+pairs[i+1])
		}
	}
	return strings.Join(given, "&")
}

func limitText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func name(k int8) string { return string(rune('a' + k)) }

func (w *world) sayWrite(kind writeKind, k int8) {
	if w.lines == nil {
		return
	}
	what := [...]string{
		create: "%s is created", change: "%s is updated", remove: "%s is deleted", leave: "%s leaves the selector", enter: "%s enters the selector",
		elsewhere: "something else than %s changes", createHidden: "%s is created where the client may not see it", grant: "the client may see %s from now on",
	}[kind]
	w.say("# At %d "+what+".", offset+int(w.srv.head()), name(k))
}

// sayFailure says how the server, or the connection, fails the newest request.
func (w *world) sayFailure(f Failure) {
	if w.lines == nil {
		return
	}
	open := w.main.kind == watchRequest && w.main.open
	switch {
	case f.Reason == Unreachable:
		w.say("< refuse")
	case f.Reason == ConnectionLost:
		w.say("< cut")
	case f.Reason == Closed:
		w.say("< eof")
	case f.Reason == TooLarge:
		w.say(`< 504 Timeout "Too large resource version: %s, current: %d"`, w.main.version, offset+int(w.srv.head()))
	case open:
		w.say(`< ERROR %d %s "%s"`, f.Code, statusReason(f), f.Reason)
	default:
		w.say(`< %d %s "%s"`, f.Code, statusReason(f), f.Reason)
	}
}

func statusReason(f Failure) string {
	switch f.Code {
	case 400:
		return "BadRequest"
	case 410:
		return "Expired"
	case 503:
		return "ServiceUnavailable"
	}
	return "InternalError"
}

func (w *world) sayAfter(d time.Duration) {
	if d > 0 {
		w.say("sleep %v", d)
	}
}

func (w *world) sayList(v version, a *arrived) {
	w.say("< 200 list rv=%s", v)
	w.sayObjects(a)
}

func (w *world) sayObjects(a *arrived) {
	for k, c := range a.objects {
		if c != (cell{}) {
			w.say("\t%s", objectText(int8(k), c, a.bad[k]))
		}
	}
	if a.nameless {
		w.say("# and one more object, without a name")
	}
}

func objectText(k int8, c cell, bad bool) string {
	text := fmt.Sprintf("%s@%s", name(k), c.at)
	if c.uid != 0 {
		text += fmt.Sprintf(" uid=u%s", c.uid)
	}
	if bad {
		text += ` {"data":{"k":5}}`
	}
	return text
}

func (w *world) sayEvent(typ object.EventType, k int8, c cell, a *arrived) {
	if w.lines == nil {
		return
	}
	word := [...]string{object.Added: "ADDED", object.Modified: "MODIFIED", object.Deleted: "DELETED"}[typ]
	if w.refetch.state != unasked {
		w.say("# Meanwhile, on the watch:")
	}
	if a.nameless {
		w.say(`< raw "{\"type\":\"%s\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%s\"}}}\n"`, word, c.at)
		return
	}
	w.say("< %s %s", word, objectText(k, c, a.bad[k]))
}

func (w *world) sayBookmark(v version, end bool) {
	if end {
		w.say(`< BOOKMARK @%s {"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}`, v)
		return
	}
	w.say("< BOOKMARK @%s", v)
}

func (w *world) sayAnswer(q inquiry) {
	w.say("< 200 list rv=%s", q.at)
	w.sayObjects(&q.found)
}

// golden is the path as a golden trace.
func (s *search) golden(path []move, why string) string {
	lines := []string{"# " + why, "", "start"}
	if s.rules.Initial == Streaming {
		lines[2] += " watchlist"
	}
	w := s.begin()
	w.lines = &lines
	w.say("# At %d there is a.", offset+int(w.srv.head()))
	for _, mv := range path {
		if mv.kind >= repairDue && mv.kind <= verifyDue {
			w.say("wait")
		}
		w.follows(w).make(mv)
		w.forget()
	}
	w.say("# The server has %v, and the sink %v.", w.srv.at(w.srv.head()).selected, w.sink)
	w.say("store")
	return strings.Join(lines, "\n") + "\n"
}
