package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// files returns the files under a directory, and what they hold.
func files(t *testing.T, dir string) []string {
	t.Helper()
	all := []string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, err2 := filepath.Rel(dir, name)
		if err2 == nil {
			all = append(all, filepath.ToSlash(rel)+" "+string(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestNamespaces(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	must := program.Must(t)
	namespace := func(name string, labels map[string]any) {
		t.Helper()
		must(server.Create("namespaces", map[string]any{"metadata": map[string]any{"name": name, "labels": labels}}))
	}
	configMap := func(namespace, name, tea string) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name}, "data": map[string]any{"tea": tea}}
	}
	label := func(name string, value any) {
		t.Helper()
		must(server.Patch("namespaces", "", name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"mirror": value}}}))
	}
	namespace("shop", map[string]any{"mirror": "true"})
	namespace("bank", nil)
	must(server.Create("configmaps", configMap("shop", "prices", "3")))
	must(server.Create("configmaps", configMap("bank", "rates", "5")))

	dir := filepath.Join(t.TempDir(), "mirror")
	p := program.New(t, "", url, dir)
	p.Begin(p.StdoutPipe)
	want := func(line string, have ...string) {
		t.Helper()
		p.Want(line)
		if got := files(t, dir); !slices.Equal(got, have) {
			t.Errorf("after %q the files are %q, want %q", line, got, have)
		}
	}
	want("wrote shop/prices", `shop/prices.json {"tea":"3"}`)
	must(server.Update("configmaps", configMap("shop", "prices", "4")))
	want("wrote shop/prices", `shop/prices.json {"tea":"4"}`)

	label("bank", "true")
	want("wrote bank/rates", `bank/rates.json {"tea":"5"}`, `shop/prices.json {"tea":"4"}`)

	// A namespace that loses the label is forgotten, and so is what happens in it.
	label("shop", nil)
	want("removed shop/prices", `bank/rates.json {"tea":"5"}`)
	want("forgot shop", `bank/rates.json {"tea":"5"}`)
	must(server.Update("configmaps", configMap("shop", "prices", "6")))
	must(server.Update("configmaps", configMap("bank", "rates", "7")))
	want("wrote bank/rates", `bank/rates.json {"tea":"7"}`)

	label("shop", "true")
	want("wrote shop/prices", `bank/rates.json {"tea":"7"}`, `shop/prices.json {"tea":"6"}`)

	p.Interrupt()
}

// What cannot work is said at once, with the exit status 1.
func TestBadArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"usage":       {"http://127.0.0.1:1"},
		"not an http": {"ftp://x", filepath.Join(t.TempDir(), "mirror")},
		"exist":       {"http://127.0.0.1:1", t.TempDir()},
	} {
		program.New(t, "", args...).Fails(want)
	}
}
