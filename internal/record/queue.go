package record

import (
	"net/url"
	"strings"
)

// queue computes the greatest possible number of entries in the client's queue: one for each key in the answers.
type queue struct {
	known  map[string]bool
	queued map[string]bool
	listed map[string]bool // in the pages so far of a list that has more pages
}

func newQueue() queue {
	return queue{known: map[string]bool{}, queued: map[string]bool{}, listed: map[string]bool{}}
}

// asked returns the key of the object that a request asks for: with a limit of 2, and with selectors of its name and, if it
// has one, its namespace.
func asked(target string) (key string, ok bool) {
	u, err := url.Parse(target)
	if err != nil {
		return "", false
	}
	query := u.Query()
	if query.Get("limit") != "2" || query.Has("resourceVersion") || query.Has("continue") {
		return "", false
	}
	namespace := ""
	for term := range strings.SplitSeq(query.Get("fieldSelector"), ",") {
		if value, found := strings.CutPrefix(term, "metadata.namespace="); found {
			namespace = value + "/"
		} else if value, found := strings.CutPrefix(term, "metadata.name="); found {
			key, ok = namespace+value, true
		}
	}
	return key, ok
}

// said records an item that the client got in answer to the request.
func (q *queue) said(target string, what said) {
	switch what := what.(type) {
	case *list:
		if key, ok := asked(target); ok {
			q.queued[key] = true
			q.known[key] = len(what.objects) > 0
			return
		}
		for i := range what.objects {
			q.listed[what.objects[i].key()] = true
		}
		if what.token != "" {
			return
		}
		for key, known := range q.known { // a deletion is queued for each object that the list lacks
			if known {
				q.queued[key] = true
			}
		}
		for key := range q.listed {
			q.queued[key] = true
		}
		q.known, q.listed = q.listed, map[string]bool{}
	case *event:
		key := what.object.key()
		q.queued[key] = true
		if what.typ == "DELETED" {
			delete(q.known, key)
		} else {
			q.known[key] = true
		}
	}
}

// take returns the number, and starts from zero.
func (q *queue) take() int {
	n := len(q.queued)
	clear(q.queued)
	return n
}
