package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/relist-go/relist/apitest"
)

func pod(name, node, phase string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": name},
		"spec":     map[string]any{"nodeName": node, "containers": []any{map[string]any{"name": "main"}}},
		"status":   map[string]any{"phase": phase},
	}
}

func TestRun(t *testing.T) {
	server := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = server.Close() })
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	do := func(_ string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(server.Create("pods", pod("web", "", "Pending")))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a line that never comes fails the test then
	defer cancel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--server", listener.URL, "--namespace", "default"}, w, io.Discard)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("printed %q, want %q", lines.Text(), want)
		}
	}
	expect("+ default/web Pending")
	do(server.Update("pods", pod("web", "node-1", "Running")))
	expect("~ default/web Pending -> Running on node-1")
	do(server.Delete("pods", "default", "web"))
	expect("- default/web Running on node-1")

	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("run returned %v", err)
	}
}

func TestBadArguments(t *testing.T) {
	tests := map[string][]string{
		"no such file":      {"--kubeconfig", filepath.Join(t.TempDir(), "none")},
		"defined: -unknown": {"--unknown"},
		"not an http":       {"--server", "ftp://x"},
		"part of the path":  {"--server", "http://x", "--namespace", ".."},
	}
	for want, args := range tests {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run%q returned %v, want it to say %q", args, err, want)
		}
	}
}

func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Pod{}); size != 12*unsafe.Sizeof(uintptr(0)) { // 96 bytes where a pointer has 8
		t.Errorf("a Pod takes %d bytes, want six strings", size)
	}
}
