package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/internal/visible"
)

// Handler shows the status to programs:
//
//   - /status is all of it, as JSON, and always 200;
//   - /healthz is 200 while the mirror is healthy, and 503 with the reason otherwise;
//   - /readyz is 503 until the first list has been applied, and 200 from then on: to
//     most readers an old copy is better than none.
func (v *View) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, v.Now()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeCheck(w, v.Now().Reason) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s := v.Now(); !s.Synced {
			writeCheck(w, s.Reason)
			return
		}
		writeCheck(w, "")
	})
	return mux
}

func writeJSON(w http.ResponseWriter, s Status) {
	body, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		http.Error(w, fmt.Sprintf("encode the status: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(report.SafeJSON(body), '\n')) // who asked may have left
}

// writeCheck answers a probe; an empty reason is success.
func writeCheck(w http.ResponseWriter, reason string) {
	w.Header().Set("Cache-Control", "no-store")
	if reason != "" {
		http.Error(w, visible.OneLine(strings.TrimSpace(reason)), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // who asked may have left
}
