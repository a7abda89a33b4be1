package record

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/relist-go/relist/internal/target"
)

// start returns the first line of the trace.
func (a *about) start() string {
	line := "start"
	if a.path != "/api/v1/namespaces/default/configmaps" {
		line += " path=" + value(a.path)
	}
	if a.kind != "ConfigMap" {
		line += " kind=" + value(a.kind)
	}
	if a.labels != "" {
		line += " selector=" + value(a.labels)
	}
	if a.fields != "" {
		line += " field-selector=" + value(a.fields)
	}
	if a.pageSize > 0 {
		line += " limit=" + strconv.Itoa(a.pageSize)
	}
	return line
}

// header returns the comment above it, which says what was recorded, and what the
// trace shows.
func (c *conversation) header() []string {
	where := "all namespaces"
	if c.about.namespace != "" {
		where = "the namespace " + c.about.namespace
	}
	first := fmt.Sprintf("# Recorded: %s in %s, for %s.", c.about.resource, where, target.Duration(max(c.length.Round(time.Second), time.Second)))
	if c.scrubbed {
		first += " Names are replaced."
	}
	return []string{first, "#", "# " + c.summary()}
}

// isForOne reports whether a request asks for one object: with a limit of 2, and with a selector of
// its name.
func isForOne(target string) bool {
	u, err := url.Parse(target)
	if err != nil {
		return false
	}
	query := u.Query()
	return query.Get("limit") == "2" && !query.Has("resourceVersion") && !query.Has("continue") &&
		strings.Contains(query.Get("fieldSelector"), "metadata.name=")
}

// summary returns how often each thing happened.
func (c *conversation) summary() string {
	var lists, asks, watches, refusals, errors, events, bookmarks, broken int
	for _, x := range c.exchanges {
		switch {
		case x.refused():
			refusals++
		case strings.Contains(x.target, "watch=true"):
			watches++
		default:
			if isForOne(x.target) {
				asks++
			} else {
				lists++
			}
		}
		for _, i := range x.items {
			switch what := i.what.(type) {
			case *status:
				errors++
			case *event:
				events++
			case *bookmark:
				bookmarks++
			case ending:
				if what == cut || what == reset {
					broken++
				}
			}
		}
	}
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{lists, "request for a list", "requests for lists"},
		{asks, "request for one object", "requests for one object"},
		{watches, "watch", "watches"},
		{events, "event", "events"},
		{bookmarks, "bookmark", "bookmarks"},
		{errors, "error of the server", "errors of the server"},
		{broken, "broken connection", "broken connections"},
		{refusals, "refused connection", "refused connections"},
	} {
		switch part.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+part.one)
		default:
			parts = append(parts, strconv.Itoa(part.n)+" "+part.many)
		}
	}
	if len(parts) == 0 {
		return "Nothing was asked for."
	}
	return strings.Join(parts, ", ") + "."
}
