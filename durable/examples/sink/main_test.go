//go:build darwin || linux

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/durabletest"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// rowsOf reads the rows of a file, as another program does.
func rowsOf(t testing.TB, file string) []durabletest.Row {
	t.Helper()
	c := NewCopy[*listwatch.Raw](file)
	if _, err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows []durabletest.Row
	for _, row := range c.file.Rows {
		rows = append(rows, durabletest.Row{Meta: row.Meta, Object: row.Object})
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestCopy(t *testing.T) {
	durabletest.Test(t, func(t testing.TB) durabletest.Place[*listwatch.Raw] {
		file := filepath.Join(t.TempDir(), "copy")
		return durabletest.Place[*listwatch.Raw]{
			Open: func() (durable.Copy[*listwatch.Raw], func()) {
				c := NewCopy[*listwatch.Raw](file)
				return c, func() { _ = c.Close() }
			},
			Rows: func() []durabletest.Row { return rowsOf(t, file) },
		}
	})
}

// A program that was killed has left a file beside the copy, or half of one. The copy is what the
// last commit has made it.
func TestKilledWhileItWrites(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copy")
	c := NewCopy[*listwatch.Raw](file)
	state, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		obj, err := listwatch.ParseRaw([]byte(`{"metadata":{"name":"` + name + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		tx, err := c.Begin(t.Context(), state, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Write(t.Context(), []durable.Change[*listwatch.Raw]{{Meta: object.Meta{Key: name}, Object: obj, Op: durable.Put}}); err != nil {
			t.Fatal(err)
		}
		state.Point.Version += "1"
		if err := tx.Commit(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+".new", []byte(`{"state":{"epoch":7}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if rows := rowsOf(t, file); len(rows) != 2 {
		t.Errorf("the file has %d rows, want 2", len(rows))
	}
	if err := os.WriteFile(file, []byte(`{"state"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewCopy[*listwatch.Raw](file).Load(t.Context()); err == nil {
		t.Error("a file that is no JSON is loaded")
	}
}

// start starts the program, and returns its lines.
func start(t *testing.T, url, file string) (lines *bufio.Scanner, stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a line that never comes fails the test then
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, transport.Config{Server: url}, file, w)
		_ = w.Close()
	}()
	return bufio.NewScanner(r), func() {
		t.Helper()
		cancel()
		_ = r.Close()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the program ended with %v", err)
		}
	}
}

func TestSink(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	file := filepath.Join(t.TempDir(), "copy")
	create := func(resource, namespace, name string) {
		t.Helper()
		if _, err := server.Create(resource, map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := server.Create("namespaces", map[string]any{"metadata": map[string]any{"name": "kube-system"}}); err != nil {
		t.Log(err) // it is there already
	}
	want := func(lines *bufio.Scanner, changes string) {
		t.Helper()
		for lines.Scan() {
			if _, got, _ := strings.Cut(lines.Text(), ": "); got == changes {
				return
			}
		}
		t.Fatalf("no line ends with %q", changes)
	}
	create("configmaps", "shop", "prices")
	create("configmaps", "shop", "stock")
	lines, stop := start(t, url, file)
	want(lines, "2 changes")
	create("configmaps", "shop", "hours")
	want(lines, "1 changes")
	stop()
	if _, err := server.Delete("configmaps", "shop", "prices"); err != nil {
		t.Fatal(err)
	}
	lines, stop = start(t, url, file)
	want(lines, "1 changes")
	stop()
	if got := rowsOf(t, file); len(got) != 2 {
		t.Errorf("the file has %d rows, want 2", len(got))
	}
}
