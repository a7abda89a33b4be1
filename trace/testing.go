package trace

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// Run runs every file of fsys that is called *.txt, each in a subtest. If program is
// nil, it is the one that the file names: see [File.Program].
//
// If the test's binary has a boolean flag called update and it is set, the
// observed lines of files that differ are rewritten instead; fsys must then be
// one of files on disk, as os.DirFS and os.Root give. The flag is the caller's:
//
//	var _ = flag.Bool("update", false, "rewrite the observed lines of traces")
//
//	func TestTrace(t *testing.T) { trace.Run(t, os.DirFS("testdata"), program) }
//
// If go test has the flag -artifacts, each file that fails leaves a page that shows the run, see
// [Recording.HTML]. It is called trace.html, and is in the directory of the test's artifacts.
func Run(t *testing.T, fsys fs.FS, program Program) {
	t.Helper()
	names, err := fs.Glob(fsys, "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("no *.txt to run")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(name, path.Ext(name)), func(t *testing.T) {
			f, place, err := read(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			program, err := f.programOr(program)
			if err != nil {
				t.Fatal(err)
			}
			var rec *recorder
			if boolFlag("test.artifacts") {
				rec = &recorder{}
			}
			got, err := inBubble(t, f, program, func(string) {}, rec)
			if err == nil && boolFlag("update") {
				if err := rewrite(f, place, got); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err := compare(f, got, err); err != nil {
				hint := ""
				if !slices.ContainsFunc(f.lines, func(l line) bool { return l.kind == observed }) {
					hint = "the file has no lines of the run: go test -update writes them\n"
				}
				t.Errorf("\n%s%s", err, hint)
				rec.leave(t, f, got, err)
			}
		})
	}
}

// read parses a file and says where it is on disk, if it is there.
func read(fsys fs.FS, name string) (f *File, place string, err error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, "", err
	}
	if onDisk, ok := file.(*os.File); ok {
		place = onDisk.Name()
	}
	if err := file.Close(); err != nil {
		return nil, "", err
	}
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, "", err
	}
	if place == "" {
		f, err = Parse(name, src)
	} else {
		f, err = Parse(place, src)
	}
	return f, place, err
}

// boolFlag reports whether a flag of the test's binary is set. Such a flag need not exist.
func boolFlag(name string) bool {
	f := flag.Lookup(name)
	if f == nil {
		return false
	}
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return false
	}
	on, _ := value.Get().(bool)
	return on
}

// rewrite puts the text of a run into its file, if they differ.
func rewrite(f *File, place string, got []string) error {
	text := join(got)
	if string(text) == string(format(f)) {
		return nil
	}
	if place == "" {
		return errors.New(f.Name + " cannot be updated: it is not a file on disk")
	}
	return os.WriteFile(place, text, 0o666) // everybody may read source files
}
