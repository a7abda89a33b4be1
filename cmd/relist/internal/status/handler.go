package status

import (
	"net/http"

	"github.com/relist-go/relist/cmd/internal/cli/web"
)

// Handler shows the status to programs:
//
//   - /status is all of it, as JSON, and always 200;
//   - /healthz is 200 while the mirror is healthy, and 503 with the reason otherwise;
//   - /readyz is 503 until the first list has been applied, and 200 from then on: to
//     most readers an old copy is better than none.
func (v *View) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { web.WriteJSON(w, v.Now()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { web.WriteCheck(w, v.Now().Reason, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s := v.Now(); !s.Synced {
			web.WriteCheck(w, s.Reason, "ok")
			return
		}
		web.WriteCheck(w, "", "ok")
	})
	return mux
}
