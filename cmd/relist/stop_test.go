package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

// A signal ends the command at once, in every state, and the command prints the
// summary. What the command waits for in each state never comes, or not for an hour.
func TestStopInEveryState(t *testing.T) {
	checkStop := func(t *testing.T, p *process) {
		t.Helper()
		r := p.interrupt()
		if r.status != cli.ExitOK || r.stderr != "" {
			t.Errorf("status %d, stderr %q", r.status, r.stderr)
		}
		summaryOf(t, r.stdout)
	}
	mirror := func(t *testing.T, url string) *process {
		return start(t, "mirror", "cm", "-A", "--server", url, "-o", "json")
	}
	t.Run("discovering", func(t *testing.T) {
		asked := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			close(asked)
			<-req.Context().Done()
		}))
		defer srv.Close()
		p := mirror(t, srv.URL)
		<-asked
		checkStop(t, p)
	})
	t.Run("listing", func(t *testing.T) {
		server := apitest.New(apitest.Options{})
		defer server.Close()
		listing := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, "/configmaps") {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","items":[`))
				_ = http.NewResponseController(w).Flush()
				close(listing)
				<-req.Context().Done()
				return
			}
			server.ServeHTTP(w, req)
		}))
		defer srv.Close()
		p := mirror(t, srv.URL)
		<-listing
		checkStop(t, p)
	})
	t.Run("watching", func(t *testing.T) {
		_, url := newServer(t, apitest.Options{})
		p := mirror(t, url)
		p.await(`"kind":"watch"`)
		checkStop(t, p)
	})
	t.Run("backing off", func(t *testing.T) {
		server, url := newServer(t, apitest.Options{})
		if err := server.FailNext(apitest.Failure{Verb: "list", Status: 503, Count: 100, RetryAfter: time.Hour}); err != nil {
			t.Error(err)
		}
		p := mirror(t, url)
		p.await(`"kind":"backoff"`)
		checkStop(t, p)
	})
	t.Run("server stalled", func(t *testing.T) {
		server, url := newServer(t, apitest.Options{})
		p := mirror(t, url)
		p.await(`"kind":"watch"`)
		server.Stall()
		createConfigMap(t, server, "a", "one")
		checkStop(t, p)
	})
	t.Run("serving", func(t *testing.T) {
		p := start(t, "serve", "--objects", "10", "--rate", "10")
		p.await("faults ")
		if r := p.interrupt(); r.status != cli.ExitOK {
			t.Errorf("status %d", r.status)
		}
	})
	t.Run("demonstrating", func(t *testing.T) {
		p := start(t, "demo", "--duration", "0s")
		p.await("1 The server ")
		r := p.interrupt()
		if r.status != cli.ExitError || r.stderr != "relist demo: interrupted before every fault was shown\n" {
			t.Errorf("status %d, stderr %q", r.status, r.stderr)
		}
	})
}

// The real signal, to a real process.
func TestSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // has no way to send one to another process
	}
	_, url := newServer(t, apitest.Options{})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "mirror", "cm", "-A", "--server", url, "-o", "json")
	cmd.Env = append(os.Environ(), "RELIST_TEST_IS_COMMAND=1",
		"GORACE=atexit_sleep_ms=0") // else the race detector, where it is on, waits a second at the end
	out := clitest.NewOutput()
	cmd.Stdout = out
	must.OK(t, cmd.Start())
	(&process{t: t, out: out}).await(`"kind":"watch"`)
	must.OK(t, cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	summaryOf(t, out.String())
}
