package apitest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/near"
)

const faultsPath = "/_faults/"

// A faultSwitch is the way to one fault over HTTP.
type faultSwitch struct {
	name  string
	query string // its parameters, with their defaults or an example
	help  string
	do    func(s *Server, q query) (string, error)
}

// faultSwitches has all switches. GET /_faults/ lists them in this order.
var faultSwitches = []faultSwitch{
	{"compact", "?resource=", "empty the windows and forget superseded states: older versions get 410; with a resource, empty its windows alone", func(s *Server, q query) (string, error) {
		if resource := q.Get("resource"); resource != "" {
			return "the window of " + resource + " begins at " + s.ResourceVersion(), s.CompactWindow(resource)
		}
		s.Compact()
		return "compacted at " + s.ResourceVersion(), nil
	}},
	{"refill", "?resource=configmaps", "fill the caches of a type again: its watches end, and its older versions get 410", func(s *Server, q query) (string, error) {
		return "the window of " + q.Get("resource") + " begins at " + s.ResourceVersion(), s.Refill(q.Get("resource"))
	}},
	{"lose", "?resource=configmaps", "let the caches of a type be not ready, until refill: its watches end, and requests get 429", func(s *Server, q query) (string, error) {
		return "lost the caches of " + q.Get("resource"), s.Lose(q.Get("resource"))
	}},
	{"expire-continue", "", "refuse the continue tokens given out so far, with 410 and a token that goes on without a snapshot", func(s *Server, _ query) (string, error) {
		s.ExpireContinue()
		return "continue tokens up to " + s.ResourceVersion() + " are expired", nil
	}},
	{"cut", "?after=0&resource=&next=0&lists=false&clean=false&reset=false", "end the open watches, the next watches or the next lists, after so many more bytes", func(s *Server, q query) (string, error) {
		c := Cut{
			After: int64(q.number("after")), Resource: q.Get("resource"), Next: q.number("next"), Lists: q.flag("lists"), Clean: q.flag("clean"), Reset: q.flag("reset"),
		}
		n, err := s.Cut(c)
		if c.Lists {
			return counted(n, "list", "lists"), err
		}
		return counted(n, "watch", "watches"), err
	}},
	{"end", "?resource=&slow=false", "end the open watches in an orderly way, or those alone whose client does not read", func(s *Server, q query) (string, error) {
		n, err := s.End(End{Resource: q.Get("resource"), Slow: q.flag("slow")})
		return counted(n, "watch", "watches"), err
	}},
	{"inject", "?raw=%7B%22type%22", "write raw bytes into the open watches", func(s *Server, q query) (string, error) {
		return counted(s.Inject([]byte(q.Get("raw"))), "watch", "watches"), nil
	}},
	{"half-open", "", "let the open connections go silent for good, but that of this request: no byte and no end arrives", func(s *Server, _ query) (string, error) {
		return counted(s.HalfOpen(), "connection", "connections"), nil
	}},
	{"stall", "", "write nothing more to any watch, until resume", func(s *Server, _ query) (string, error) {
		s.Stall()
		return "stalled", nil
	}},
	{"hold", "?verb=watch", "keep the next request waiting, until resume", func(s *Server, q query) (string, error) {
		_, err := s.Hold(q.Get("verb"))
		return "the next " + q.Get("verb") + " will wait", err
	}},
	{"resume", "", "end stall, hold and refuse", func(s *Server, _ query) (string, error) {
		return "resumed", s.Resume()
	}},
	{"refuse", "?for=5s", "close the port and all connections, that of this request too, for that long", func(s *Server, q query) (string, error) {
		d := q.duration("for")
		if d == 0 {
			return "", errors.New("for=0s: want more than zero")
		}
		// Refuse also closes the connection of this request, so the client gets no answer.
		return "", s.Refuse(d)
	}},
	{"goaway", "?requests=1", "ask clients to leave their connection, in the answers to the next requests", func(s *Server, q query) (string, error) {
		s.GoAway(q.number("requests"))
		return counted(q.number("requests"), "request", "requests"), nil
	}},
	{"fail", "?count=1&for=0s&verb=list&resource=pods&namespace=&user-agent=&status=500&reason=&message=&retry-after=0s&in-stream=false&raw=&content-type=", "answer the next requests, or all for a time, with a status, or with raw bytes", func(s *Server, q query) (string, error) {
		f := Failure{
			Count: q.number("count"), For: q.duration("for"), Verb: q.Get("verb"), Resource: q.Get("resource"),
			Namespace: q.Get("namespace"), UserAgent: q.Get("user-agent"),
			Status: q.number("status"), ContentType: q.Get("content-type"), Reason: metav1.StatusReason(q.Get("reason")), Message: q.Get("message"),
			RetryAfter: q.duration("retry-after"), InStream: q.flag("in-stream"),
		}
		if raw := q.Get("raw"); raw != "" {
			f.Raw = []byte(raw)
		}
		if f.For > 0 && (f.Count == 0 || q.Get("count") == "") {
			f.Count = 0 // any number
			return "requests for " + f.For.String(), s.FailNext(f)
		}
		return counted(max(f.Count, 1), "request", "requests"), s.FailNext(f)
	}},
	{"drop", "?type=DELETED&count=1", "let watches miss the next changes of a type", func(s *Server, q query) (string, error) {
		return counted(q.number("count"), "change", "changes"), s.DropEvent(q.Get("type"), q.number("count"))
	}},
	{"rewrite", "?count=1&resource=configmaps&namespace=&name=&type=&patch=%7B%22data%22%3A5%7D", "change the object in the next events by a JSON merge patch", func(s *Server, q query) (string, error) {
		patch, err := decodeObject([]byte(q.Get("patch")))
		if err != nil {
			return "", fmt.Errorf("patch=%s: want a JSON object: %w", q.Get("patch"), err)
		}
		x := Rewrite{Count: q.number("count"), Resource: q.Get("resource"), Namespace: q.Get("namespace"), Name: q.Get("name"), Type: q.Get("type"), Patch: patch}
		return counted(x.Count, "event", "events"), s.Rewrite(x)
	}},
	{"bookmarks", "?period=1m", "send bookmarks to quiet watches this often; 0s is never; the first needs a write since the version of the watch", func(s *Server, q query) (string, error) {
		d := q.duration("period")
		s.SetBookmarkPeriod(or(d, -1, -1))
		return "bookmarks each " + d.String(), nil
	}},
	{"clear", "", "forget the failures, cuts, rewrites and drops that were not met yet, and let bookmarks through", func(s *Server, _ query) (string, error) {
		s.ClearFaults()
		return "cleared", nil
	}},
	{"swallow", "?what=bookmarks&on=true", "withhold bookmarks, or initial-events-end", func(s *Server, q query) (string, error) {
		what, on := q.Get("what"), q.flag("on")
		if what != swallowBookmarks && what != swallowInitialEventsEnd {
			return "", fmt.Errorf("what=%s: want %s or %s", what, swallowBookmarks, swallowInitialEventsEnd)
		}
		s.setSwallow(what, on)
		return what + " " + strconv.FormatBool(on), nil
	}},
	{"freeze", "?replica=replica-1", "stop a replica's watch cache where it is", onReplica(func(_ *Server, r *Replica) string {
		r.Freeze()
		rv, _ := r.Frozen()
		return "frozen at " + rv
	})},
	{"unfreeze", "?replica=replica-1", "let a replica catch up", onReplica(func(_ *Server, r *Replica) string {
		r.Unfreeze()
		return "caught up"
	})},
	{"route", "?replica=replica-1", "let this replica answer at the server's address", onReplica(func(s *Server, r *Replica) string {
		s.Route(r)
		return "routed"
	})},
	{"restore", "?resourceVersion=1&keep-connections=false", "take the storage back to an earlier version; API servers start again and break all connections but that of this request, unless told otherwise", func(s *Server, q query) (string, error) {
		x := Restore{ResourceVersion: q.Get("resourceVersion"), KeepConnections: q.flag("keep-connections")}
		return "restored " + x.ResourceVersion, s.Restore(x)
	}},
}

// onReplica is a fault of a replica that exists: with a misspelt name, it would show nothing.
func onReplica(do func(*Server, *Replica) string) func(*Server, query) (string, error) {
	return func(s *Server, q query) (string, error) {
		r, names := s.find(q.Get("replica"))
		if r == nil {
			return "", fmt.Errorf("replica %q: the server has only %s; relist serve --replicas makes others, and in Go Server.Replica", q.Get("replica"), names)
		}
		return do(s, r), nil
	}
}

// query has the parameters of a fault. Their types are those of the values in faultSwitch.query:
// numbers, flags, durations, or text. If a request lacks one that is not text, the value there is
// its default.
type query struct{ given, example url.Values }

// parameterTypes are the types that are not text.
var parameterTypes = []struct {
	want string
	is   func(string) bool
}{
	{"a whole number, 0 or more", func(v string) bool { n, err := strconv.Atoi(v); return err == nil && n >= 0 }},
	{"true or false", func(v string) bool { _, err := strconv.ParseBool(v); return err == nil }},
	{"a duration such as 5s", func(v string) bool { d, err := time.ParseDuration(v); return err == nil && d >= 0 }},
}

// parse reads a query. It returns an error for a parameter that the switch does not have, because
// otherwise nobody would notice that a name is misspelt.
func (f faultSwitch) parse(raw string) (query, error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, fmt.Errorf("the parameters of %s: %w", f.name, err)
	}
	example, err := url.ParseQuery(strings.TrimPrefix(f.query, "?"))
	if err != nil {
		// unreachable: the examples are constants, and a test sends each of them.
		panic("apitest: " + err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case len(example) == 0:
			return query{}, fmt.Errorf("%s has no parameters, and so no %q", f.name, name)
		case !example.Has(name):
			return query{}, fmt.Errorf("%s has no parameter %q: want %s", f.name, name, strings.Join(slices.Sorted(maps.Keys(example)), ", "))
		case len(given[name]) > 1:
			return query{}, fmt.Errorf("%s is given more than once", name)
		}
		for _, t := range parameterTypes {
			if t.is(example.Get(name)) {
				if v := given.Get(name); v != "" && !t.is(v) {
					return query{}, fmt.Errorf("%s=%s: want %s", name, v, t.want)
				}
				break
			}
		}
	}
	return query{given, example}, nil
}

// Get returns a parameter as it was given.
func (q query) Get(name string) string { return q.given.Get(name) }

// The methods below return a parameter of another type than text. No error can come: parse has
// looked at the type.

func (q query) number(name string) int {
	n, _ := strconv.Atoi(cmp.Or(q.Get(name), q.example.Get(name)))
	return n
}

func (q query) flag(name string) bool {
	on, _ := strconv.ParseBool(cmp.Or(q.Get(name), q.example.Get(name)))
	return on
}

func (q query) duration(name string) time.Duration {
	d, _ := time.ParseDuration(cmp.Or(q.Get(name), q.example.Get(name)))
	return d
}

// serveFaults answers requests below /_faults/. No fault touches these requests, and they need no
// token.
func (s *Server) serveFaults(w http.ResponseWriter, req *http.Request) {
	name := strings.TrimPrefix(req.URL.Path, faultsPath)
	switch name {
	case "":
		s.listFaults(w)
		return
	case watchesQuestion.name:
		s.serveWatches(w, req)
		return
	}
	names := []string{watchesQuestion.name}
	for _, f := range faultSwitches {
		if f.name != name {
			names = append(names, f.name)
			continue
		}
		if req.Method != http.MethodPost {
			http.Error(w, "faults change the server: use POST", http.StatusMethodNotAllowed)
			return
		}
		q, err := f.parse(req.URL.RawQuery)
		did := ""
		if err == nil {
			did, err = f.do(s, q)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprintln(w, did) // if it returns an error, the client hung up
		return
	}
	http.Error(w, fmt.Sprintf("no fault %q: GET %s lists them%s", name, faultsPath, near.DidYouMean(name, names)), http.StatusNotFound)
}

// watchesQuestion is no fault: a test asks it before one that concerns open watches.
var watchesQuestion = faultSwitch{
	"watches", "?resource=configmaps&count=1&timeout=30s", "wait until so many watches of a resource are open, for as long as timeout says", nil,
}

func (s *Server) serveWatches(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		http.Error(w, "watches is a question: use GET", http.StatusMethodNotAllowed)
		return
	}
	q, err := watchesQuestion.parse(req.URL.RawQuery)
	code, resource := http.StatusBadRequest, q.Get("resource")
	if err == nil {
		timeout := q.duration("timeout")
		ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, fmt.Errorf("timeout=%s is over", timeout))
		defer cancel()
		err = s.WaitForWatches(ctx, resource, q.number("count"))
		if ctx.Err() != nil || errors.Is(err, errClosed) {
			code = http.StatusGatewayTimeout
		}
	}
	if err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	open, _ := s.faults.watches(resource)
	_, _ = fmt.Fprintf(w, "%s of %s open\n", counted(open, "watch", "watches"), resource) // if it returns an error, the client hung up
}

func (s *Server) listFaults(w http.ResponseWriter) {
	var b strings.Builder
	_, replicas := s.find("")
	fmt.Fprintf(&b, "The server is at resource version %s. Its replicas: %s.\n", s.ResourceVersion(), replicas)
	if active := s.faults.describe(); len(active) > 0 {
		b.WriteString("\nIn effect:\n\n    " + strings.Join(active, "\n    ") + "\n")
	}
	b.WriteString("\nFaults. Numbers, durations, true and false are the defaults of parameters, all else is an example, and so is a resourceVersion:\n\n")
	for _, f := range faultSwitches {
		fmt.Fprintf(&b, "POST %s%s%s\n    %s\n", faultsPath, f.name, f.query, f.help)
	}
	fmt.Fprintf(&b, "\nGET %s%s%s\n    %s\n", faultsPath, watchesQuestion.name, watchesQuestion.query, watchesQuestion.help)
	b.WriteString("\nRequests with the header \"" + spareHeader + ": off\" meet none of the faults of requests, watches and connections.\n")
	writeBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte(b.String()))
}

// describe returns a line for each fault that is waiting for a request, or is in effect.
func (f *faults) describe() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	var lines []string
	for _, x := range f.failures {
		if x.over(now) {
			continue
		}
		line := "fail"
		if x.Count > 0 {
			line += " " + counted(x.Count, "request", "requests")
		}
		if !x.until.IsZero() {
			line += " for " + x.until.Sub(now).Round(time.Millisecond).String()
		}
		line += fmt.Sprintf(" with %d", x.Status)
		for _, limit := range [][2]string{{"verb", x.Verb}, {"resource", x.Resource}, {"namespace", x.Namespace}, {"user-agent", x.UserAgent}} {
			if limit[1] != "" {
				line += fmt.Sprintf(" %s=%q", limit[0], limit[1])
			}
		}
		lines = append(lines, line)
	}
	for _, x := range f.rewrites {
		lines = append(lines, "rewrite "+counted(x.Count, "event", "events"))
	}
	for _, h := range f.holds {
		lines = append(lines, "hold the next "+h.verb)
	}
	for _, h := range f.held {
		lines = append(lines, "a "+h.verb+" waits")
	}
	if n := len(f.cuts); n > 0 {
		lines = append(lines, "cut the next "+counted(n, "watch", "watches"))
	}
	if n := len(f.listCuts); n > 0 {
		lines = append(lines, "cut the next "+counted(n, "list", "lists"))
	}
	if f.stalled != nil {
		lines = append(lines, "stall")
	}
	if f.goAway > 0 {
		lines = append(lines, "goaway for "+counted(f.goAway, "request", "requests"))
	}
	for _, what := range []string{swallowBookmarks, swallowInitialEventsEnd} {
		if f.swallow[what] {
			lines = append(lines, "swallow "+what)
		}
	}
	return lines
}

// counted returns n with its noun: "1 watch", "2 watches".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
