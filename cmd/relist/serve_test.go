package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	p := start(t, "serve", "--objects", "30", "--rate", "500", "--replicas", "3")
	p.await("faults ")
	var serving []string
	faults := ""
	for line := range strings.Lines(p.out.String()) {
		word, url, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "serving":
			serving = append(serving, url)
		case "faults":
			faults = url
		}
	}
	if len(serving) != 3 || faults == "" {
		t.Fatalf("stdout = %q, want three addresses and the switches", p.out.String())
	}
	for _, url := range serving {
		r := command(t, "mirror", "cm", "-A", "--server", url, "--exit-on-sync", "-o", "json")
		if s := summaryOf(t, r.stdout); s["objects"].(float64) < 25 {
			t.Errorf("%s: %v objects", url, s["objects"])
		}
	}
	// It churns, and the switches work.
	m := start(t, "mirror", "cm", "-A", "--server", serving[0], "-o", "json")
	m.await(`"type":"Updated"`)
	post(t, faults+"cut")
	m.await(`"kind":"watchEnd"`)
	if r, _ := m.interrupt(); r.status != exitOK {
		t.Errorf("mirror: status %d", r.status)
	}
	if r, _ := p.interrupt(); r.status != exitOK {
		t.Errorf("serve: status %d, %s", r.status, r.stderr)
	}
}

func post(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		t.Fatalf("POST %s: %s %s", url, resp.Status, body)
	}
}

func TestServeAddressTaken(t *testing.T) {
	p := start(t, "serve")
	p.await("faults ")
	url := strings.Fields(p.out.String())[1]
	r := command(t, "serve", "--listen", strings.TrimPrefix(url, "http://"))
	if r.status != exitError || !strings.Contains(r.stderr, "address already in use; choose another address with --listen") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}
