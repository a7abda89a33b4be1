package apitest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const faultsPath = "/_faults/"

// A faultSwitch is one fault as it is reached over HTTP.
type faultSwitch struct {
	name  string
	query string // its parameters, as an example
	help  string
	do    func(s *Server, q query) (string, error)
}

// faultSwitches are listed by GET /_faults/ in this order.
var faultSwitches = []faultSwitch{
	{"compact", "", "empty the window and forget superseded states: older versions get 410", func(s *Server, _ query) (string, error) {
		s.Compact()
		return "compacted at " + s.ResourceVersion(), nil
	}},
	{"expire-continue", "", "refuse the continue tokens given out so far, with 410 and a token that goes on without a snapshot", func(s *Server, _ query) (string, error) {
		s.ExpireContinue()
		return "continue tokens up to " + s.ResourceVersion() + " are expired", nil
	}},
	{"cut", "?after=0&next=0&clean=false&reset=false", "end the open watches, or the next ones, after so many more bytes", func(s *Server, q query) (string, error) {
		c := Cut{After: int64(q.number("after", 0)), Next: q.number("next", 0), Clean: q.flag("clean", false), Reset: q.flag("reset", false)}
		if q.err != nil {
			return "", q.err
		}
		return counted(s.Cut(c), "watch", "watches"), nil
	}},
	{"end", "", "end the open watches in an orderly way", func(s *Server, _ query) (string, error) {
		return counted(s.EndWatches(), "watch", "watches"), nil
	}},
	{"inject", "?raw=%7B%22type%22", "write raw bytes into the open watches", func(s *Server, q query) (string, error) {
		return counted(s.Inject([]byte(q.Get("raw"))), "watch", "watches"), nil
	}},
	{"stall", "", "write nothing more to any watch, until resume", func(s *Server, _ query) (string, error) {
		s.Stall()
		return "stalled", nil
	}},
	{"resume", "", "end stall and refuse", func(s *Server, _ query) (string, error) {
		return "resumed", s.Resume()
	}},
	{"refuse", "?for=5s", "close the port and all connections, that of this request too, for that long", func(s *Server, q query) (string, error) {
		d := q.duration("for", 5*time.Second)
		if q.err != nil {
			return "", q.err
		}
		if d == 0 {
			return "", errors.New("for=0s: want more than zero")
		}
		// The answer to this request is lost with its connection.
		return "", s.Refuse(d)
	}},
	{"goaway", "?requests=1", "ask clients to leave their connection, in the answers to the next requests", func(s *Server, q query) (string, error) {
		n := q.number("requests", 1)
		if q.err != nil {
			return "", q.err
		}
		s.GoAway(n)
		return counted(n, "request", "requests"), nil
	}},
	{"fail", "?count=1&verb=list&resource=pods&status=500&reason=&message=&retry-after=0s&in-stream=false", "answer the next requests with a status", func(s *Server, q query) (string, error) {
		f := Failure{
			Count: q.number("count", 1), Verb: q.Get("verb"), Resource: q.Get("resource"), Status: q.number("status", 0),
			Reason: metav1.StatusReason(q.Get("reason")), Message: q.Get("message"),
			RetryAfter: q.duration("retry-after", 0), InStream: q.flag("in-stream", false),
		}
		if q.err != nil {
			return "", q.err
		}
		return counted(max(f.Count, 1), "request", "requests"), s.FailNext(f)
	}},
	{"drop", "?type=DELETED&count=1", "let watches miss the next changes of a type", func(s *Server, q query) (string, error) {
		n := q.number("count", 1)
		if q.err != nil {
			return "", q.err
		}
		return counted(n, "change", "changes"), s.DropEvent(q.Get("type"), n)
	}},
	{"swallow", "?what=bookmarks&on=true", "withhold bookmarks, or initial-events-end", func(s *Server, q query) (string, error) {
		what, on := q.Get("what"), q.flag("on", true)
		if q.err != nil {
			return "", q.err
		}
		if what != swallowBookmarks && what != swallowInitialEventsEnd {
			return "", fmt.Errorf("what=%s: want %s or %s", what, swallowBookmarks, swallowInitialEventsEnd)
		}
		s.setSwallow(what, on)
		return what + " " + strconv.FormatBool(on), nil
	}},
	{"freeze", "?replica=b", "stop a replica's watch cache where it is", func(s *Server, q query) (string, error) {
		r := s.Replica(q.Get("replica"))
		r.Freeze()
		rv, _ := r.Frozen()
		return "frozen at " + rv, nil
	}},
	{"unfreeze", "?replica=b", "let a replica catch up", func(s *Server, q query) (string, error) {
		s.Replica(q.Get("replica")).Unfreeze()
		return "caught up", nil
	}},
	{"route", "?replica=b", "let this replica answer at the server's address", func(s *Server, q query) (string, error) {
		s.Route(s.Replica(q.Get("replica")))
		return "routed", nil
	}},
	{"restore", "?resourceVersion=1", "take the storage back to an earlier version", func(s *Server, q query) (string, error) {
		return "restored " + q.Get("resourceVersion"), s.RestoreBackup(q.Get("resourceVersion"))
	}},
}

// serveFaults answers below /_faults/. It is subject to no fault itself, and asks for no token.
func (s *Server) serveFaults(w http.ResponseWriter, req *http.Request) {
	name := strings.TrimPrefix(req.URL.Path, faultsPath)
	if name == "" {
		s.listFaults(w)
		return
	}
	for _, f := range faultSwitches {
		if f.name != name {
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
		_, _ = fmt.Fprintln(w, did) // a client that is gone does not need the answer
		return
	}
	http.Error(w, fmt.Sprintf("no fault %q: GET %s lists them", name, faultsPath), http.StatusNotFound)
}

func (s *Server) listFaults(w http.ResponseWriter) {
	var b strings.Builder
	fmt.Fprintf(&b, "The server is at resource version %s. Faults, with the defaults of their parameters or an example:\n\n", s.ResourceVersion())
	for _, f := range faultSwitches {
		fmt.Fprintf(&b, "POST %s%s%s\n    %s\n", faultsPath, f.name, f.query, f.help)
	}
	writeBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte(b.String()))
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
