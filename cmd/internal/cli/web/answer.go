package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/internal/visible"
)

// Write answers with a body that nobody may keep for later.
func Write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // who asked may have left
}

// WriteJSON answers with a status.
func WriteJSON(w http.ResponseWriter, status any) {
	body, err := json.MarshalIndent(status, "", "  ")
	if err != nil {
		http.Error(w, fmt.Sprintf("encode the status: %v", err), http.StatusInternalServerError)
		return
	}
	Write(w, "application/json", append(report.SafeJSON(body), '\n'))
}

// WriteCheck answers a probe: 503 with the reason, or 200 with the text well if there is none.
func WriteCheck(w http.ResponseWriter, reason, well string) {
	if reason != "" {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, visible.OneLine(strings.TrimSpace(reason)), http.StatusServiceUnavailable)
		return
	}
	Write(w, "text/plain; charset=utf-8", []byte(well+"\n"))
}
