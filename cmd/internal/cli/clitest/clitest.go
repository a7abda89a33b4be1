// Package clitest is for tests that run a command in their own process.
package clitest

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Limit is how long a test waits for what must come. It is long, because a machine may be slow.
const Limit = 2 * time.Minute

// AtHome runs the tests in an environment without the configuration of the machine's user. The
// tests run in parallel, so they cannot do this one by one.
func AtHome(m *testing.M) (status int) {
	home, err := os.MkdirTemp("", "relist-test")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	for name, value := range map[string]string{"HOME": home, "KUBECONFIG": "", "KUBERNETES_SERVICE_HOST": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// Output is what a command writes, and can be waited for. Any number of goroutines may use it at
// the same time.
type Output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed and replaced with each write
}

// NewOutput returns one without text.
func NewOutput() *Output { return &Output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.buf.Write(b)
}

// String returns everything that was written.
func (o *Output) String() string {
	text, _ := o.Now()
	return text
}

// Now returns everything that was written, and a channel that is closed with the next write.
func (o *Output) Now() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.changed
}

// Await waits until text has been written, and returns everything that was.
func (o *Output) Await(t testing.TB, text string) string {
	t.Helper()
	timeout := time.After(Limit)
	for {
		have, changed := o.Now()
		if strings.Contains(have, text) {
			return have
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited for %q; printed so far:\n%s", text, have)
		}
	}
}
