// Package install shows that the modules can be had by their version, as `go install` and `go get`
// take them from a module proxy: no go.mod of a published module has a replace, and each names a
// version of the library. It also shows that the commands of the pages work on a clone, and that
// examples/slim stays small.
package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/relist-go/relist/internal/must"
)

const (
	repository = "../.."
	library    = "github.com/relist-go/relist"
)

// modules are the folders of the modules that have a version.
var modules = []string{".", "durable", "prometheus", "cmd/relist-sql"}

// What the tags of the next release would hold can be installed, and imported by a program outside
// of the clone, from a folder that serves the modules as a proxy does.
func TestInstallByVersion(t *testing.T) {
	version := nextVersion(t)
	proxy := t.TempDir()
	for _, name := range modules {
		publish(t, proxy, module.Version{Path: path.Join(library, name), Version: version}, name)
	}
	for _, name := range modules {
		// go.sum has no sums of modules that are tagged at the same commit.
		diff, err := try(t, proxy, filepath.Join(repository, name), "go", "mod", "tidy", "-diff")
		if err != nil && !strings.Contains(diff, "\n+++ tidy/") {
			t.Fatalf("go mod tidy in %s: %v\n%s", name, err, diff)
		}
		for _, line := range regexp.MustCompile(`(?m)^[-+][^-+\n].*$`).FindAllString(diff, -1) {
			if !strings.HasPrefix(line, "+"+library) {
				t.Errorf("%s is not tidy: %s", filepath.Join(name, "go.mod"), line)
			}
		}
	}

	for _, name := range []string{"relist", "relist-sql"} {
		run(t, proxy, t.TempDir(), "go", "install", library+"/cmd/"+name+"@"+version)
		if got := run(t, proxy, ".", filepath.Join(proxy, "bin", name), "version"); !strings.HasPrefix(got, name+" "+version+" ") {
			t.Errorf("%s %s says of itself: %s", name, version, got)
		}
	}

	program := t.TempDir()
	write(t, filepath.Join(program, "go.mod"), "module example.com/program\n\ngo 1.26.0\n")
	write(t, filepath.Join(program, "main.go"), fmt.Sprintf(`package main

import (
	_ %q
	_ %q
	_ %q
)

func main() {}
`, library, library+"/durable", library+"/prometheus"))
	run(t, proxy, program, "go", "mod", "tidy")
	run(t, proxy, program, "go", "run", ".")
}

// nextVersion returns the version that CHANGELOG.md begins with. It is an error if a published
// module requires another version of ours or has a replace, or if HEAD has the tag of another
// version.
func nextVersion(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "CHANGELOG.md"))
	must.OK(t, err)
	_, heading, _ := strings.Cut(string(data), "\n## ")
	version := "v" + strings.FieldsFunc(heading, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })[0]
	for _, name := range modules {
		path := filepath.Join(repository, name, "go.mod")
		data, err := os.ReadFile(path)
		must.OK(t, err)
		file, err := modfile.Parse(path, data, nil)
		must.OK(t, err)
		if len(file.Replace) > 0 {
			t.Errorf("%s has a replace, so nobody can install a command of it by its version", path)
		}
		for _, r := range file.Require {
			if (r.Mod.Path == library || strings.HasPrefix(r.Mod.Path, library+"/")) && r.Mod.Version != version {
				t.Errorf("%s requires %s, and CHANGELOG.md begins with %s", path, r.Mod, version)
			}
		}
	}
	for tag := range strings.FieldsSeq(git(t, ".", "tag", "--points-at", "HEAD", "--list", "v[0-9]*", "*/v[0-9]*")) {
		if path.Base(tag) != version {
			t.Errorf("HEAD has the tag %s, and CHANGELOG.md begins with %s", tag, version)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return version
}

// publish puts a module of the work tree into a folder as a proxy has it, and logs what is in it:
// https://go.dev/ref/mod#goproxy-protocol.
func publish(t *testing.T, proxy string, mod module.Version, name string) {
	t.Helper()
	versions := filepath.Join(proxy, filepath.FromSlash(mod.Path), "@v")
	must.OK(t, os.MkdirAll(versions, 0o700))
	info, err := json.Marshal(map[string]string{"Version": mod.Version})
	must.OK(t, err)
	goMod, err := os.ReadFile(filepath.Join(repository, name, "go.mod"))
	must.OK(t, err)
	write(t, filepath.Join(versions, "list"), mod.Version+"\n")
	write(t, filepath.Join(versions, mod.Version+".info"), string(info))
	write(t, filepath.Join(versions, mod.Version+".mod"), string(goMod))

	files := []zip.File{tracked{repository, "LICENSE"}} // the go command adds it to a module that has none
	for file := range strings.SplitSeq(git(t, name, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		f := tracked{filepath.Join(repository, name), file}
		if _, err := f.Lstat(); err == nil && file != "" && file != "LICENSE" { // it may be deleted
			files = append(files, f)
		}
	}
	var archive bytes.Buffer
	must.OK(t, zip.Create(&archive, mod, files))
	write(t, filepath.Join(versions, mod.Version+".zip"), archive.String())
	held, err := zip.CheckFiles(files)
	must.OK(t, err)
	folders := map[string]int{}
	for _, file := range held.Valid {
		folder, _, _ := strings.Cut(file, "/")
		folders[folder]++
	}
	t.Logf("the tag %s has %d files, in a zip of %d KiB: %v", path.Join(name, mod.Version), len(held.Valid), archive.Len()>>10, folders)
}

// tracked is a file of a module.
type tracked struct{ dir, path string }

func (f tracked) Path() string                 { return f.path }
func (f tracked) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.dir, f.path)) }
func (f tracked) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.dir, f.path)) }

// git runs git in the folder of a module.
func git(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join(repository, name)}, args...)...).Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// run runs a command in dir, and returns what it prints.
func run(t *testing.T, proxy, dir string, args ...string) string {
	t.Helper()
	out, err := try(t, proxy, dir, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try runs a command in dir. Our modules come from the proxy. All others come from what this
// machine has downloaded to build the tests, or else from where it gets modules. What is unpacked
// and what is installed goes into folders of the proxy.
func try(t *testing.T, proxy, dir string, args ...string) (string, error) {
	t.Helper()
	upstream, cache := goEnv(t, "GOPROXY"), goEnv(t, "GOMODCACHE")
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw -trimpath", "GONOSUMDB="+library+"/*,"+library,
		"GOMODCACHE="+filepath.Join(proxy, "mod"), "GOBIN="+filepath.Join(proxy, "bin"),
		fmt.Sprintf("GOPROXY=file://%s,file://%s,%s", filepath.ToSlash(proxy), filepath.ToSlash(filepath.Join(cache, "cache", "download")), upstream))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	must.OK(t, err)
	return strings.TrimSpace(string(out))
}
