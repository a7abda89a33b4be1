//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

// newPipe returns a pipe without a writer.
func newPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	must.OK(t, syscall.Mkfifo(path, 0o600))
	t.Cleanup(func() { // or whoever waits for it does so until the process ends
		writer, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			err = writer.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	return path
}

// withPlugin returns a kubeconfig for a server whose credential a program supplies, when it has
// read a line from a pipe.
func withPlugin(t *testing.T, url, token string) (kubeconfig, pipe string) {
	t.Helper()
	pipe = newPipe(t)
	dir := filepath.Dir(pipe)
	for name, text := range map[string]string{
		"log-in": fmt.Sprintf(`#!/bin/sh
read line <%q
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":%q}}'
`, pipe, token),
		"kubeconfig": fmt.Sprintf(`{"current-context": "c",
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
"clusters": [{"name": "c", "cluster": {"server": %q}}],
"users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./log-in", "interactiveMode": "Never"}}}]}`, url),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { // one of them is a program
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "kubeconfig"), pipe
}

// A program that supplies the credential may wait for the user for longer than a server may take.
// The user learns what the command waits for.
func TestPluginThatWaitsForTheUser(t *testing.T) {
	t.Parallel() // it waits for StartTimeout
	_, url := newServer(t, apitest.Options{Token: "secret"})
	kubeconfig, pipe := withPlugin(t, url, "secret")
	p := start(t, "mirror", "cm", "--kubeconfig", kubeconfig, "--exit-on-sync", "-o", "none")
	p.errors.Await(t, "relist: waiting for log-in, which supplies the credential\n")
	must.OK(t, os.WriteFile(pipe, []byte("go on\n"), 0o600))
	if r := p.wait(); r.status != cli.ExitOK || !strings.Contains(r.stdout, "summary\n") {
		t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}

// --for ends a command that waits for a program, for a file or for the server. That is an error,
// because nothing was mirrored.
func TestForEndsTheStart(t *testing.T) {
	t.Parallel()
	kubeconfig, _ := withPlugin(t, "http://127.0.0.1:1", "secret")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"plugin":     {[]string{"--kubeconfig", kubeconfig}, "wait for log-in, which supplies the credential: the time of --for is over"},
		"kubeconfig": {[]string{"--kubeconfig", newPipe(t)}, "read the kubeconfig and the files of credentials: the time of --for is over"},
		"token":      {[]string{"--server", "http://127.0.0.1:1", "--token-file", newPipe(t)}, "read the kubeconfig and the files of credentials: the time of --for is over"},
		"server":     {[]string{"--server", silentServer(t)}, "the time of --for is over"},
	} {
		for _, verb := range [][]string{{"mirror"}, {"record", "-o", filepath.Join(t.TempDir(), "trace")}} {
			r := command(t, append(append(verb, "cm", "--for", "100ms"), tt.args...)...)
			if r.status != cli.ExitError || r.stdout != "" || !strings.HasSuffix(r.stderr, tt.want+"\n") {
				t.Errorf("%s %s: status %d, stdout %q, stderr %q, want %q", verb[0], name, r.status, r.stdout, r.stderr, tt.want)
			}
		}
	}
}

// Ctrl-C ends a command that waits for a file.
func TestStopWhileAFileIsRead(t *testing.T) {
	t.Parallel()
	pipe := newPipe(t)
	p := start(t, "mirror", "cm", "--kubeconfig", pipe, "-o", "json")
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // as soon as the command reads
	must.OK(t, err)
	defer writer.Close()
	r := p.interrupt()
	if r.status != cli.ExitOK || r.stderr != "" {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
	summaryOf(t, r.stdout)
}
