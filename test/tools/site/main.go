// Command site builds a static site: every Markdown page of the repository in HTML, every trace as
// a page that steps through it, and an index of the traces that can be filtered. Pages link to each
// other by relative paths, so the site works from a folder, too.
//
//	go -C test/tools/site run . -out ../../../dist/site
package main

import (
	"embed"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", "../../..", "the repository")
	out := flag.String("out", "../../../dist/site", "the folder of the site; it is replaced")
	flag.Parse()
	if err := build(*root, *out); err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
}

// site is the repository, and what has been made of it.
type site struct {
	root, out string
	files     []string
	pages     map[string]string    // of the site, by the file that each is made of; both with slashes
	docs      map[string]*document // by the file
	menu      []shelf
	below     map[string]bool // pages of the menu that are below another
	traces    []entry
	assets    map[string]bool // files that pages show
}

func build(root, out string) error {
	s := &site{root: root, out: out, pages: map[string]string{}, docs: map[string]*document{}, below: map[string]bool{}, assets: map[string]bool{}}
	if err := s.list(); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := s.record(); err != nil {
		return err
	}
	for _, file := range s.files {
		if s.pages[file] == "" || path.Ext(file) != ".md" {
			continue
		}
		if err := s.read(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := s.shelves(); err != nil {
		return err
	}
	for file, doc := range s.docs {
		if err := s.show(file, doc); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for asset := range s.assets {
		data, err := os.ReadFile(filepath.Join(root, asset))
		if err != nil {
			return err
		}
		if err := s.write(asset, data); err != nil {
			return err
		}
	}
	for _, name := range []string{"frame.css", "site.css", "site.js"} {
		data, err := layout.ReadFile("layout/" + name)
		if err != nil {
			return err
		}
		if err := s.write(name, data); err != nil {
			return err
		}
	}
	if err := s.step(); err != nil {
		return err
	}
	if err := s.index(); err != nil {
		return err
	}
	if err := s.search(); err != nil {
		return err
	}
	fmt.Printf("%d traces and %d other pages in %s\n", len(s.traces), len(s.pages)-len(s.traces)+1, out)
	return nil
}

// list finds what becomes a page. README.md is the index of its folder.
func (s *site) list() error {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = s.root
	names, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the files of the repository: %w", err)
	}
	s.files = strings.FieldsFunc(string(names), func(r rune) bool { return r == 0 })
	for _, file := range s.files {
		switch dir, base := path.Split(file); {
		case strings.HasPrefix(file, "."):
		case base == "README.md":
			s.pages[file] = dir + "index.html"
		case path.Ext(file) == ".md":
			s.pages[file] = strings.TrimSuffix(file, ".md") + ".html"
		}
	}
	return nil
}

// write writes a file of the site.
func (s *site) write(name string, data []byte) error {
	file := filepath.Join(s.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil { // everybody may read a site
		return err
	}
	return os.WriteFile(file, data, 0o666) // the same
}

//go:embed layout
var layout embed.FS

// page writes a page in the layout of the site. contents and body are HTML.
func (s *site) page(name, title, contents, body string) error {
	frame, err := layout.ReadFile("layout/page.html")
	if err != nil {
		return err
	}
	return s.write(name, []byte(strings.NewReplacer(
		"{{title}}", html.EscapeString(title), "{{style}}", relative(name, "site.css"), "{{header}}", s.header(name),
		"{{contents}}", contents, "{{body}}", body,
	).Replace(string(frame))))
}

// relative returns the link from one file to another, both from the top of the site or of the
// repository.
func relative(from, to string) string {
	rel, err := filepath.Rel(path.Dir(from), to)
	if err != nil {
		return to
	}
	return filepath.ToSlash(rel)
}

// isDir reports whether a folder of the repository has files.
func (s *site) isDir(name string) bool {
	return slices.ContainsFunc(s.files, func(file string) bool { return strings.HasPrefix(file, strings.TrimSuffix(name, "/")+"/") })
}
