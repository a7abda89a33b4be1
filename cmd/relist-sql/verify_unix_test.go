//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
)

// A program that supplies the credential may wait for the user for longer than a server may take,
// also for verify.
func TestVerifyWaitsForTheCredential(t *testing.T) {
	t.Parallel() // it waits for StartTimeout
	w := newWorld(t, 2)
	w.once()
	dir := t.TempDir()
	pipe, kubeconfig := filepath.Join(dir, "pipe"), filepath.Join(dir, "kubeconfig")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"log-in": fmt.Sprintf(`#!/bin/sh
read line <%q
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"secret"}}'
`, pipe),
		"kubeconfig": fmt.Sprintf(`{"current-context": "c",
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
"clusters": [{"name": "c", "cluster": {"server": %q}}],
"users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./log-in", "interactiveMode": "Never"}}}]}`, w.url),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { // one of them is a program
			t.Fatal(err)
		}
	}
	p := start(t, "verify", w.file, "--kubeconfig", kubeconfig)
	p.errors.Await(t, "relist-sql: waiting for log-in, which supplies the credential\n")
	if err := os.WriteFile(pipe, []byte("go on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := p.wait(); r.status != cli.ExitOK {
		t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}
