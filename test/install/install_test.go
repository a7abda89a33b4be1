// Package install shows that the modules can be had by their version, as `go install` and `go get`
// take them from a module proxy: no go.mod of a published module has a replace, and each names a
// version of the library. It also shows that the commands of the pages work on a clone, and that
// examples/slim stays small.
package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	repository = "../.."
	library    = "github.com/relist-go/relist"
)

// published are the modules beside the library that have a version.
var published = []string{"durable", "prometheus", "cmd/relist-sql"}

// The commands and the packages are found in a folder that serves the modules as a proxy does,
// outside of the clone.
func TestInstallByVersion(t *testing.T) {
	version := requiredVersion(t)
	proxy := t.TempDir()
	publish(t, proxy, module.Version{Path: library, Version: version}, repository)
	for _, name := range published {
		publish(t, proxy, module.Version{Path: library + "/" + name, Version: version}, filepath.Join(repository, name))
	}

	// With -n, go finds and reads every package, and does not compile.
	for _, command := range []string{"/cmd/relist", "/cmd/relist-sql"} {
		run(t, proxy, t.TempDir(), "go", "install", "-n", library+command+"@"+version)
	}

	// A program of somebody else's requires two of them.
	program := t.TempDir()
	write(t, filepath.Join(program, "go.mod"), "module example.com/program\n\ngo 1.26.0\n")
	write(t, filepath.Join(program, "main.go"), fmt.Sprintf(`package main

import (
	_ %q
	_ %q
)

func main() {}
`, library+"/durable", library+"/prometheus"))
	run(t, proxy, program, "go", "mod", "tidy")
	run(t, proxy, program, "go", "list", "-deps", "./...")
}

// requiredVersion returns the version of the library that the published modules require, which must
// be one.
func requiredVersion(t *testing.T) string {
	version := ""
	for _, name := range published {
		path := filepath.Join(repository, name, "go.mod")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := modfile.Parse(path, data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Replace) > 0 {
			t.Errorf("%s has a replace, so nobody can install a command of it by its version", path)
		}
		for _, r := range file.Require {
			switch {
			case r.Mod.Path != library && !strings.HasPrefix(r.Mod.Path, library+"/"):
			case version != "" && version != r.Mod.Version:
				t.Errorf("%s requires the library at %s, and another module at %s", path, r.Mod.Version, version)
			default:
				version = r.Mod.Version
			}
		}
	}
	if version == "" {
		t.Fatal("no module requires the library")
	}
	return version
}

// publish puts a module of the work tree into a folder as a proxy has it:
// https://go.dev/ref/mod#goproxy-protocol.
func publish(t *testing.T, proxy string, mod module.Version, dir string) {
	t.Helper()
	versions := filepath.Join(proxy, filepath.FromSlash(mod.Path), "@v")
	if err := os.MkdirAll(versions, 0o700); err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]string{"Version": mod.Version})
	if err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(versions, "list"), mod.Version+"\n")
	write(t, filepath.Join(versions, mod.Version+".info"), string(info))
	write(t, filepath.Join(versions, mod.Version+".mod"), string(goMod))
	var archive bytes.Buffer
	if err := zip.CreateFromDir(&archive, mod, dir); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(versions, mod.Version+".zip"), archive.String())
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in dir. Our modules come from the proxy. All others come from what this
// machine has downloaded to build the tests, or else from where it gets modules. What is unpacked
// goes into a folder of the test's own.
func run(t *testing.T, proxy, dir string, args ...string) {
	t.Helper()
	upstream, cache := goEnv(t, "GOPROXY"), goEnv(t, "GOMODCACHE")
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	modules := t.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GONOSUMDB="+library+"/*,"+library, "GOMODCACHE="+modules,
		fmt.Sprintf("GOPROXY=file://%s,file://%s,%s", filepath.ToSlash(proxy), filepath.ToSlash(filepath.Join(cache, "cache", "download")), upstream))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
