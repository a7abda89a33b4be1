package simulation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/relist-go/relist/transport"
)

// plugin is a program that gives a client its credential, and that can fail.
type plugin struct {
	t         *testing.T
	dir       string
	before    int // runs before it failed
	inAMinute int // runs while it failed
}

// newPlugin makes a plugin the credential of a client. Its first credential expires before any
// fault does harm.
func newPlugin(t *testing.T, cfg *transport.Config) *plugin {
	t.Helper()
	p := &plugin{t: t, dir: t.TempDir()}
	program := filepath.Join(p.dir, "get-credential")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho run >>\"$DIR/runs\"; cat \"$DIR/credential\"\n"), 0o700); err != nil { // it is a program
		t.Fatal(err)
	}
	p.print(time.Now().Add(10 * time.Second))
	cfg.Exec = &transport.ExecConfig{Command: program, Env: []string{"DIR=" + p.dir}, Stderr: new(bytes.Buffer)}
	cfg.AllowInsecureCredentials = true // the network is in memory
	return p
}

func (p *plugin) print(expires time.Time) {
	p.t.Helper()
	text := fmt.Sprintf(`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"a-token","expirationTimestamp":%q}}`,
		expires.Format(time.RFC3339))
	if err := os.WriteFile(filepath.Join(p.dir, "credential"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plugin) runs() int {
	data, _ := os.ReadFile(filepath.Join(p.dir, "runs"))
	return bytes.Count(data, []byte("\n"))
}

// fail has the plugin fail from its next run on, and work ends that.
func (p *plugin) fail() {
	p.t.Helper()
	p.before = p.runs()
	if err := os.Remove(filepath.Join(p.dir, "credential")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plugin) work() {
	p.t.Helper()
	p.inAMinute = p.runs() - p.before
	p.print(time.Now().Add(24 * time.Hour))
}
