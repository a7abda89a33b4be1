package informer

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/relist-go/relist/internal/visible"
)

// Handler answers the probes of a kubelet, by their paths. /readyz is 503 until every member has
// synced, and has a line for each that has not, which says why and since when. Then it is 200, also
// if requests fail later: to most readers an old copy is better than none. /livez is 200. When Run
// has ended or is about to end, both are 503.
//
// Add members before the handler is served. One that is added later, or a new namespace of a
// [MultiNamespace], counts from then on. The group need not run: members that something else runs,
// such as controller.Run, count, too. A replica that waits to be the leader is ready as soon as its
// copies are.
func (g *Group) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		now, end := context.WithCancel(r.Context())
		end()
		late := &LateError{}
		_ = errors.As(g.WaitForSync(now), &late)
		g.answer(w, late.lines(""))
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { g.answer(w, "") })
	return mux
}

// answer is 503 if there is a reason, or if the group has ended.
func (g *Group) answer(w http.ResponseWriter, reason string) {
	g.mu.Lock()
	if g.ended {
		reason = "the group has ended"
	}
	g.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	if reason != "" {
		http.Error(w, strings.TrimSpace(reason), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // who asked may have left
}

// lines has a line for each member that is late, or for each of its namespaces that is.
func (e *LateError) lines(prefix string) string {
	var b strings.Builder
	for _, m := range e.Late {
		if namespaces, ok := errors.AsType[*LateError](m.Err); ok {
			b.WriteString(namespaces.lines(m.Name + " "))
			continue
		}
		why := m.Err.Error()
		if late := (*SyncError)(nil); errors.As(m.Err, &late) {
			why = late.why()
		}
		b.WriteString(visible.OneLine(prefix+m.Name+": "+why) + "\n")
	}
	return b.String()
}
