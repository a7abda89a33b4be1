package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// script writes a program, which is also given the folder it is in, as $DIR.
func script(t *testing.T, text string) *ExecConfig {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "get-credential")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { // it is a program
		t.Fatal(err)
	}
	return &ExecConfig{Command: path, Env: []string{"DIR=" + dir}, Stderr: new(bytes.Buffer)}
}

// printer is a program that prints what credentials.print has given it last, and
// writes a line to a file for each run.
type printer struct {
	*ExecConfig

	t *testing.T
}

func newPrinter(t *testing.T) printer {
	return printer{script(t, `echo run >>"$DIR/runs"; cat "$DIR/credential"`), t}
}

func (p printer) dir() string { return filepath.Dir(p.Command) }

// print says what the program prints from now on: the status of an ExecCredential.
func (p printer) print(status string) {
	p.t.Helper()
	text := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":` + status + "}\n"
	if err := os.WriteFile(filepath.Join(p.dir(), "credential"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// runs says how often the program ran.
func (p printer) runs() int {
	data, _ := os.ReadFile(filepath.Join(p.dir(), "runs"))
	return bytes.Count(data, []byte("\n"))
}

// A program that fails may open a window each time. Its error is kept for all requests, longer and
// longer, and forgotten when it works.
func TestExecThatFailsIsRunLessAndLess(t *testing.T) {
	program := newPrinter(t)
	synctest.Test(t, func(t *testing.T) {
		network, server := memnet.New(), &tokenServer{accepted: "a-token"}
		defer serveOn(network, server.ServeHTTP)()
		c := newTestClient(t, Config{Server: "http://127.0.0.1", Dial: network.Dial, Exec: program.ExecConfig})
		defer c.Close()
		runsAt := func(d time.Duration) (at []time.Duration) { // a request each 500 ms
			for begun := time.Now(); time.Since(begun) < d; pass(500 * time.Millisecond) {
				before := program.runs()
				resp, err := c.Get(t.Context(), Request{Path: "/"})
				if err == nil {
					resp.Body.Close()
				}
				if program.runs() > before {
					at = append(at, time.Since(begun))
				}
			}
			return at
		}
		s := time.Second
		if got, want := runsAt(2*time.Minute), []time.Duration{0, s, 5 * s, 20 * s, 50 * s, 80 * s, 110 * s}; !slices.Equal(got, want) {
			t.Errorf("the program that fails ran at %v, want %v", got, want)
		}
		program.print(fmt.Sprintf(`{"token":"a-token","expirationTimestamp":%q}`, time.Now().Add(time.Minute).Format(time.RFC3339)))
		if got, want := runsAt(50*s), []time.Duration{20 * s}; !slices.Equal(got, want) {
			t.Errorf("the program that works ran at %v, want %v", got, want)
		}
		must.OK(t, os.Remove(filepath.Join(program.dir(), "credential")))
		if got, want := runsAt(15*s), []time.Duration{10 * s, 11 * s}; !slices.Equal(got, want) {
			t.Errorf("the program that fails again ran at %v, want %v", got, want)
		}
	})
}

func TestExecTokenIsKeptUntilItExpires(t *testing.T) {
	program := newPrinter(t)
	synctest.Test(t, func(t *testing.T) {
		network, server := memnet.New(), &tokenServer{accepted: "first-token"}
		defer serveOn(network, server.ServeHTTP)()
		c := newTestClient(t, Config{Server: "http://127.0.0.1", Dial: network.Dial, Exec: program.ExecConfig})
		defer c.Close()
		get := func(wantErr, wantSeen string, wantRuns int) {
			t.Helper()
			resp, err := c.Get(t.Context(), Request{Path: "/"})
			checkError(t, err, wantErr)
			if err == nil {
				resp.Body.Close()
			}
			if seen := server.take(); seen != wantSeen {
				t.Errorf("the server was shown %q, want %q", seen, wantSeen)
			}
			if runs := program.runs(); runs != wantRuns {
				t.Errorf("the program ran %d times, want %d", runs, wantRuns)
			}
		}
		status := func(token string, life time.Duration) string {
			return fmt.Sprintf(`{"token":%q,"expirationTimestamp":%q}`, token, time.Now().Add(life).Format(time.RFC3339))
		}
		if program.runs() != 0 {
			t.Error("the program ran before there was a request")
		}
		program.print(status("first-token", time.Minute))
		get("", "first-token", 1)
		get("", "first-token", 1)

		program.print(status("second-token", time.Hour))
		pass(time.Minute)
		server.accepted = "second-token"
		get("", "second-token", 2) // expired: no 401 is needed to know

		server.accepted = "third-token"
		program.print(`{"token":"third-token"}`)
		pass(time.Minute)
		get("", "second-token third-token", 3)
		pass(24 * time.Hour)
		get("", "third-token", 3) // no expiration: as long as it is good

		server.accepted = "another" // refused, and the program has nothing new
		get("401 Unauthorized", "third-token", 4)
		get("401 Unauthorized", "third-token", 4) // not run again within a second
		pass(execAge)
		get("401 Unauthorized", "third-token", 5)

		program.print(`{}`)
		pass(execAge)
		get("Unauthorized (and there is no new credential: run get-credential to get a credential: it printed", "third-token", 6)
		get("run get-credential to get a credential", "", 6) // nor is one that failed
	})
}

func TestExecIsToldWhatIsWanted(t *testing.T) {
	const first = `printf '%s' "$KUBERNETES_EXEC_INFO" >"$DIR/info"; printf '%s %s' "$1" "$EXTRA" >"$DIR/args"; `
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	ca := newCert(t, nil)
	must.OK(t, os.WriteFile(caFile, pemOf(ca.Certificate[0]), 0o600))
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nothing", func(*Config) {}, `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}`},
		{
			"another version", func(c *Config) { c.Exec.APIVersion = execV1beta1 },
			`{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{"interactive":false}}`,
		},
		{
			"the cluster", func(c *Config) {
				c.Exec.ProvideClusterInfo, c.Exec.ClusterConfig = true, []byte(`{"audience":"x"}`)
				c.TLS = TLSConfig{CAData: []byte(pemOf(ca.Certificate[0])), ServerName: "kubernetes"}
			},
			`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"server":"https://api.example","tls-server-name":"kubernetes","certificate-authority-data":"CA","config":{"audience":"x"}},"interactive":false}}`,
		},
		{
			"the cluster, with a CA file", func(c *Config) {
				c.Exec.ProvideClusterInfo = true
				c.TLS = TLSConfig{CAFile: caFile}
			},
			`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"server":"https://api.example","certificate-authority-data":"CA"},"interactive":false}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Server: "https://api.example", Exec: script(t, first+"exit 3")}
			cfg.Exec.Args, cfg.Exec.Env = []string{"a b"}, append(cfg.Exec.Env, "EXTRA=e")
			tt.change(&cfg)
			plugin, err := newExecPlugin(cfg)
			must.OK(t, err)
			_, err = plugin.get(t.Context())
			checkError(t, err, "run get-credential to get a credential: exit status 3 (its messages are on the standard error)")
			dir := filepath.Dir(cfg.Exec.Command)
			info, err := os.ReadFile(filepath.Join(dir, "info"))
			must.OK(t, err)
			want := strings.ReplaceAll(tt.want, `"CA"`, `"`+base64Of(pemOf(ca.Certificate[0]))+`"`)
			if string(info) != want {
				t.Errorf("the program was told\n%s\nwant\n%s", info, want)
			}
			if args, _ := os.ReadFile(filepath.Join(dir, "args")); string(args) != "a b e" {
				t.Errorf("argument and variable %q", args)
			}
		})
	}
}

// Twenty requests want a credential at once, and one program runs.
func TestExecRunsOnceForAll(t *testing.T) {
	program := newPrinter(t)
	program.print(`{"token":"the-token"}`)
	server := &tokenServer{accepted: "the-token"}
	var mu sync.Mutex
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		server.ServeHTTP(w, r)
	})
	cfg.Exec = program.ExecConfig
	c := newTestClient(t, cfg)
	get := func() {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := getAll(t.Context(), c, "/"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	get()
	if runs := program.runs(); runs != 1 {
		t.Errorf("the program ran %d times, want once", runs)
	}
	mu.Lock()
	server.accepted = "new-token"
	mu.Unlock()
	program.print(`{"token":"new-token"}`)
	plugin := c.credentials.(*execPlugin)
	plugin.mu.Lock()
	plugin.last.at = time.Now().Add(-time.Hour)
	plugin.mu.Unlock()
	get()
	if runs := program.runs(); runs != 2 {
		t.Errorf("the program ran %d times, want twice", runs)
	}
}

// A client certificate of a program comes into use on new connections; a watch on an
// old one continues.
func TestExecClientCertificate(t *testing.T) {
	program := newPrinter(t)
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New()
		ca := newCert(t, nil, "api.example")
		first, second := newCert(t, &ca), newCert(t, &ca)
		var shown []string
		names := map[string]string{string(first.Certificate[0]): "first", string(second.Certificate[0]): "second"}
		accepted := "first"
		stop := serveMutual(network, func(w http.ResponseWriter, r *http.Request) {
			name := names[string(r.TLS.PeerCertificates[0].Raw)]
			shown = append(shown, name)
			switch {
			case name != accepted:
				http.Error(w, "no", http.StatusUnauthorized)
			case r.URL.Path == "/watch":
				holdOpen(`{}`)(w, r)
			}
		}, ca)
		defer stop()
		give := func(c tls.Certificate) {
			program.print(fmt.Sprintf(`{"clientCertificateData":%q,"clientKeyData":%q}`, pemOf(c.Certificate[0]), pemOfKey(t, c)))
		}
		give(first)
		c := newTestClient(t, Config{
			Server: "https://api.example", Dial: network.Dial, Exec: program.ExecConfig,
			TLS: TLSConfig{CAData: pemOf(ca.Certificate[0])},
		})
		defer c.Close()
		s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
		must.OK(t, err)
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		pass(execAge)
		give(second)
		accepted = "second"
		must.OK(t, getAll(t.Context(), c, "/get"))
		if got := strings.Join(shown, " "); got != "first first second" {
			t.Errorf("the server was shown %q", got)
		}
		pass(execAge)
		give(second) // the same again: the same connections
		accepted = "none"
		current := c.connections.current
		if err := getAll(t.Context(), c, "/get"); err == nil {
			t.Error("no error")
		}
		if c.connections.current != current || program.runs() != 3 {
			t.Errorf("the same certificate was taken for another one, after %d runs", program.runs())
		}
		program.print("broken")
		pass(execAge)
		checkError(t, getAll(t.Context(), c, "/get"), "there is no new credential: run get-credential")
		if c.connections.current != current {
			t.Error("a run that failed took the certificate away")
		}
		s.Close()
	})
}

func TestExecConfigIsChecked(t *testing.T) {
	for _, tt := range []struct {
		cfg     Config
		wantErr string
	}{
		{Config{Exec: &ExecConfig{}}, "the program of Exec has no Command"},
		{Config{Exec: &ExecConfig{Command: "x", APIVersion: "client.authentication.k8s.io/v1alpha1"}}, "want client.authentication.k8s.io/v1 or"},
		{Config{Exec: &ExecConfig{Command: "x", Env: []string{"pass-word"}}}, "Exec.Env[0] is not of the form"},
		{Config{Exec: &ExecConfig{Command: "x"}, BearerToken: "pass-word"}, "both Exec and a bearer token"},
		{Config{Exec: &ExecConfig{Command: "x"}, Username: "pass-word"}, "both Exec and a bearer token or a user name"},
		{Config{Exec: &ExecConfig{Command: "x"}, TLS: TLSConfig{CertFile: "pass-word"}}, "both Exec and a client certificate"},
	} {
		tt.cfg.Server = "https://api.example"
		_, err := NewClient(tt.cfg)
		checkError(t, err, tt.wantErr)
		if strings.Contains(err.Error(), "pass-word") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

// A program that is asked between the end of its credential and the next one gives what
// has expired. Who is refused with that waits until the program may be run again: there
// is one 401, and not one for each of the requests of a second.
func TestExecIsAskedAgainForWhatHasExpired(t *testing.T) {
	program := newPrinter(t)
	synctest.Test(t, func(t *testing.T) {
		network, server := memnet.New(), &tokenServer{accepted: "second-token"}
		defer serveOn(network, server.ServeHTTP)()
		c := newTestClient(t, Config{Server: "http://127.0.0.1", Dial: network.Dial, Exec: program.ExecConfig})
		defer c.Close()
		credential := func(token string, life time.Duration) {
			program.print(fmt.Sprintf(`{"token":%q,"expirationTimestamp":%q}`, token, time.Now().Add(life).Format(time.RFC3339Nano)))
		}
		credential("first-token", -time.Millisecond)
		time.AfterFunc(execAge/2, func() { credential("second-token", time.Minute) })
		begun := time.Now()
		if err := getAll(t.Context(), c, "/"); err != nil {
			t.Error(err)
		}
		if seen := server.take(); seen != "first-token second-token" {
			t.Errorf("the server was shown %q", seen)
		}
		if waited, runs := time.Since(begun), program.runs(); waited != execAge || runs != 2 {
			t.Errorf("it took %s and %d runs, want %s and 2", waited, runs, execAge)
		}

		// Who waits does so no longer than he wants.
		credential("third-token", -time.Millisecond)
		server.accepted = "another"
		pass(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), execAge/2)
		defer cancel()
		if err := getAll(ctx, c, "/"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}
