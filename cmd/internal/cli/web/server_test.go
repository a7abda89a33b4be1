package web

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

func get(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	must.OK(t, err)
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// Close ends what is in progress and what is idle, and waits for it.
func TestServerClose(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0")
	must.OK(t, err)
	entered, left := make(chan struct{}), false
	s.Serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/wait" {
			close(entered)
			<-req.Context().Done()
			left = true
			return
		}
		_, _ = w.Write([]byte("here"))
	}), func(err error) { t.Errorf("it failed: %v", err) })

	idle, busy := &http.Client{Transport: &http.Transport{}}, &http.Client{Transport: &http.Transport{}}
	if body, err := get(t, idle, s.URL()); err != nil || body != "here" {
		t.Fatalf("GET: %q, %v", body, err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := get(t, busy, s.URL()+"/wait")
		answered <- err
	}()
	<-entered
	s.Close()
	if !left { // no lock: Close has waited
		t.Error("Close did not wait for a request")
	}
	if err := <-answered; err == nil {
		t.Error("the request in progress was answered")
	}
	if _, err := get(t, idle, s.URL()); err == nil {
		t.Error("the address still answers")
	}
}

func TestCloseUnserved(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0")
	must.OK(t, err)
	s.Close()
	again, err := Listen(t.Context(), strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatalf("the address is not free: %v", err)
	}
	again.Close()
}

// An accept that fails is told, and Close still works.
func TestServeFails(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0")
	must.OK(t, err)
	failed := make(chan error, 1)
	s.Serve(http.NotFoundHandler(), func(err error) { failed <- err })
	must.OK(t, s.ln.(*net.TCPListener).Close())
	if err := <-failed; !strings.Contains(err.Error(), "serve status requests on 127.0.0.1:") {
		t.Error(err)
	}
	s.Close()
}

func TestListenErrors(t *testing.T) {
	taken, err := Listen(t.Context(), "127.0.0.1:0")
	must.OK(t, err)
	defer taken.Close()
	for addr, want := range map[string]string{
		strings.TrimPrefix(taken.URL(), "http://"): "address already in use",
		"127.0.0.1:99999":                          "invalid port",
		"nonsense":                                 "missing port",
	} {
		if _, err := Listen(t.Context(), addr); err == nil || !strings.HasPrefix(err.Error(), "listen for status requests: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", addr, err, want)
		}
	}
}
