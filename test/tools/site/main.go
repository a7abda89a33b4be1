// Command site builds a static site: every Markdown page of the repository in HTML, every trace as
// a page that steps through it, an index of the traces that can be filtered, and a search. Pages
// link to each other by relative paths, so the site works from a folder, too.
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
	"regexp"
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
	pages     map[string]string // of the site, by the file that each is made of; both with slashes
	titles    map[string]string // of the pages that are not traces, by the file
	menu      string            // the same for every page
	order     []string          // the files of the menu
	traces    []entry
	found     []found
}

func build(root, out string) error {
	s := &site{root: root, out: out, pages: map[string]string{}, titles: map[string]string{}}
	for _, do := range []func() error{s.list, s.readMap, s.record, s.documents, s.style, s.index, s.search} {
		if err := do(); err != nil {
			return err
		}
	}
	fmt.Printf("%d traces and %d other pages in %s\n", len(s.traces), len(s.titles)+2, out)
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
	if err := os.RemoveAll(s.out); err != nil {
		return err
	}
	s.files = strings.FieldsFunc(string(names), func(r rune) bool { return r == 0 })
	for _, file := range s.files {
		dir, base := path.Split(file)
		if path.Ext(file) != ".md" || strings.HasPrefix(file, ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.root, file))
		if err != nil {
			return err
		}
		if s.pages[file] = strings.TrimSuffix(file, ".md") + ".html"; base == "README.md" {
			s.pages[file] = dir + "index.html"
		}
		s.titles[file] = strings.ReplaceAll(strings.TrimPrefix(string(top.Find(text)), "# "), "`", "")
	}
	return nil
}

// top is the heading of a page.
var top = regexp.MustCompile(`(?m)^# .+$`)

// style writes what the pages share.
func (s *site) style() error {
	for _, name := range []string{"frame.css", "site.css", "site.js"} {
		if err := s.write(name, part(name)); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the site. {{root}} becomes the way to the top of the site.
func (s *site) write(name, text string) error {
	file := filepath.Join(s.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil { // everybody may read a site
		return err
	}
	text = strings.ReplaceAll(text, "{{root}}", strings.Repeat("../", strings.Count(name, "/")))
	return os.WriteFile(file, []byte(text), 0o666) // the same
}

//go:embed layout
var layout embed.FS

func part(name string) string {
	data, _ := layout.ReadFile("layout/" + name) // it is embedded
	return string(data)
}

// page writes a page in the layout of the site. contents and body are HTML.
func (s *site) page(name, title, contents, body string) error {
	return s.write(name, fill(part("page.html"),
		"{{title}}", html.EscapeString(title), "{{header}}", s.header(name), "{{contents}}", contents, "{{body}}", body))
}

// fill replaces words by texts, in pairs.
func fill(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

// relative returns the link from one file to another, both from the top.
func relative(from, to string) string {
	rel, err := filepath.Rel(path.Dir(from), to)
	if err != nil {
		return to
	}
	return filepath.ToSlash(rel)
}
