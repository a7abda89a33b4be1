package trace

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/relist-go/relist/object"
)

// A trace with the heading "# beside: name" is played to two programs, one after the other. They
// ask for different things, so each is sent only the lines that answer what it has asked for, as a
// server would. What comes into its queue is taken at once.

// pair is what such a run knows of its server.
type pair struct {
	unasked string            // why the last line was not sent; "" if it was
	open    string            // what the client has open after it
	version string            // of the newest list or event
	objects map[string]string // what the server has by then: versions by key
}

// wish is what a request wants of a server, and what its stream has brought.
type wish struct {
	watch, bookmarks bool
	version          string
	after            string            // the next event is newer than this
	brought          map[string]string // versions by key, for a watch that begins with what exists
}

func wishOf(req *http.Request) *wish {
	q := req.URL.Query()
	version := q.Get("resourceVersion")
	return &wish{watch: q.Has("watch"), bookmarks: q.Get("allowWatchBookmarks") == "true", version: version, after: version, brought: map[string]string{}}
}

// told is an event, or the body of a list or of a Status.
type told struct {
	Type   string `json:"type"`
	Object struct {
		anyObject
		Message string `json:"message"`
	} `json:"object"`
	Items []anyObject `json:"items"`
}

// tell plays a stimulus if the client has asked for it, and takes what comes.
func (r *run) tell(s stimulus) error {
	if start, ok := s.(*start); ok && start.of.encoding != jsonEncoding {
		return errors.New("start: who has asked for a line is found out in JSON alone")
	}
	r.pair.hear(s)
	if r.pair.unasked = r.unasked(s); r.pair.unasked != "" {
		return nil
	}
	if err := s.play(r); err != nil || r.client == nil {
		return err
	}
	return pop{n: 1 << 20}.play(r)
}

// hear notes what a line says of the server's objects. A list or an event that is older than others
// is that of a server that is behind, or begins a watch.
func (p *pair) hear(s stimulus) {
	switch s := s.(type) {
	case *list:
		body, err := listOf(s.of, s.version, s.token, s.items, s.words.json)
		var list told
		if err != nil || json.Unmarshal(body.encode(), &list) != nil || object.Older(s.version, p.version) {
			return
		}
		p.version, p.objects = s.version, map[string]string{}
		for _, item := range list.Items {
			p.objects[object.Key(&item)] = item.ResourceVersion
		}
	case *chunk:
		var e told
		if json.Unmarshal(s.data, &e) != nil || e.Object.Name == "" || !object.Older(p.version, e.Object.ResourceVersion) && p.version != "" {
			return
		}
		p.version, p.objects[object.Key(&e.Object)] = e.Object.ResourceVersion, e.Object.ResourceVersion
		if e.Type == "DELETED" {
			delete(p.objects, object.Key(&e.Object))
		}
	}
}

// inWords returns the objects of a map from keys to versions as lines, sorted.
func inWords(versions map[string]string) (lines []string) {
	for key, version := range versions {
		lines = append(lines, key+"@"+version)
	}
	slices.Sort(lines)
	return lines
}

// open says which request of the client is open.
func (r *run) open() string {
	switch newest, err := r.peer.newest(); {
	case err != nil:
		return "it has no request open"
	case newest.started:
		return "its watch is open"
	case newest.wish.watch:
		return "it has asked for a watch"
	}
	return "it has asked for a list"
}

// unasked says why no request of the client is answered by a line of the server; "" if one is.
func (r *run) unasked(s stimulus) string {
	newest, err := r.peer.newest()
	waits := err == nil && !newest.started
	stream, streams := r.peer.streaming()
	switch s := s.(type) {
	case *list:
		if !waits || newest.wish.watch {
			return r.open()
		}
		if object.Older(s.version, newest.wish.version) {
			return "it wants a list that is not older than " + newest.wish.version
		}
	case open, upgrade:
		if !waits || !newest.wish.watch {
			return r.open()
		}
	case *reply:
		if !waits {
			return r.open()
		}
		return newest.wish.refused(string(s.body))
	case *chunk:
		if !streams {
			return r.open()
		}
		return stream.wish.event(s.data)
	case eof, closing, hang:
		if !streams {
			return r.open()
		}
	case *bare, cut, reset, rst, goAway:
		if err != nil {
			return r.open()
		}
	}
	return ""
}

// refusedVersion is what a server says of a version that it cannot serve.
var refusedVersion = regexp.MustCompile(`[Tt]oo (?:old|large) resource version: (\d+)`)

// refused says why a message is not the answer to a request: it is about another version.
func (w *wish) refused(message string) string {
	if of := refusedVersion.FindStringSubmatch(message); of != nil && of[1] != w.version {
		return "it does not ask for version " + of[1]
	}
	return ""
}

// event says why a watch does not bring an event.
func (w *wish) event(data []byte) string {
	var e told
	if json.Unmarshal(data, &e) != nil {
		return "" // bytes that are no event
	}
	key, version := object.Key(&e.Object), e.Object.ResourceVersion
	switch was, brought := w.brought[key]; {
	case e.Type == "ERROR":
		return w.refused(e.Object.Message)
	case e.Type == "BOOKMARK":
		if !w.bookmarks {
			return "it does not ask for bookmarks"
		}
		return ""
	case !object.IsAnyVersion(w.version) && !object.Older(w.after, version):
		return "its watch brings what is newer than " + w.after
	case object.IsAnyVersion(w.version) && !brought && e.Type != "ADDED":
		return "its watch begins with what exists, and this happened before"
	case object.IsAnyVersion(w.version) && brought && !object.Older(was, version):
		return fmt.Sprintf("its watch has brought %s@%s", key, was)
	}
	w.after, w.brought[key] = version, version
	return ""
}
