package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// repository is where links lead to files that are no page of the site.
const repository = "https://github.com/relist-go/relist/blob/main/"

// shownTrace is the code of a trace in a page.
var shownTrace = regexp.MustCompile("(?s)<!-- from (\\S+\\.txt) -->\n```\\w*\n.*?\n```\n")

// drawnTrace is the picture of a trace in a page of an incident.
var drawnTrace = regexp.MustCompile(`!\[[^\]]*\]\(pictures/([\w-]+)\.svg\)\n`)

// picture is a drawing that is a paragraph of its own. On a telephone it scrolls, because its text
// would be too small to read.
var picture = regexp.MustCompile(`<p>(<img src="[^"]+\.svg"[^>]*>)</p>`)

// document makes a page of a Markdown file.
func (s *site) document(file string) error {
	src, err := os.ReadFile(filepath.Join(s.root, file))
	if err != nil {
		return err
	}
	step := func(block []byte, name string) []byte {
		if s.pages[name] == "" {
			return block
		}
		return fmt.Appendf(bytes.Clone(block), "\n[Step through this trace](%s)\n", relative(file, name))
	}
	src = shownTrace.ReplaceAllFunc(src, func(block []byte) []byte {
		name := string(shownTrace.FindSubmatch(block)[1])
		if drawn := "(pictures/" + strings.TrimSuffix(path.Base(name), ".txt") + ".svg)"; bytes.Contains(src, []byte(drawn)) {
			return block // the link is below the picture
		}
		return step(block, name)
	})
	src = drawnTrace.ReplaceAllFunc(src, func(drawing []byte) []byte {
		name := "testdata/" + string(drawnTrace.FindSubmatch(drawing)[1]) + ".txt"
		if own := path.Join(path.Dir(file), name); s.pages[own] != "" {
			name = own
		}
		return step(drawing, name)
	})
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(html.WithUnsafe()), // the pages are ours
	)
	doc := md.Parser().Parse(text.NewReader(src), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	title := path.Base(file)
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if entering && n.Level == 1 {
				title = string(n.Lines().Value(src))
			}
		case *ast.Link:
			if entering {
				n.Destination = []byte(s.link(file, string(n.Destination)))
			}
		case *ast.Image:
			if entering {
				s.asset(file, string(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := md.Renderer().Render(&body, src, doc); err != nil {
		return err
	}
	wide := strings.ReplaceAll(body.String(), "<table>", `<div class="wide" tabindex="0" role="region" aria-label="Table"><table>`)
	wide = strings.ReplaceAll(wide, "</table>", "</table></div>")
	wide = picture.ReplaceAllString(wide, `<div class="wide picture" tabindex="0" role="region" aria-label="Picture">$1</div>`)
	wide = strings.ReplaceAll(wide, `<pre><code class="language-mermaid">`, fmt.Sprintf(`<p><a href=%q>This diagram is drawn on GitHub</a>. Its source:</p><pre><code>`, repository+file))
	wide = strings.ReplaceAll(wide, "<pre>", `<pre tabindex="0">`)
	return s.page(s.pages[file], title, wide)
}

// link returns where a link of a page leads in the site.
func (s *site) link(file, to string) string {
	target, anchor, hasAnchor := strings.Cut(to, "#")
	if target == "" || strings.Contains(target, ":") {
		return to
	}
	name := path.Join(path.Dir(file), target)
	if hasAnchor {
		anchor = "#" + anchor
	}
	from := s.pages[file]
	for _, page := range []string{name, name + "/README.md", strings.TrimPrefix(name+"/README.md", "./")} {
		if s.pages[page] != "" {
			return relative(from, s.pages[page]) + anchor
		}
	}
	switch {
	case path.Ext(name) == ".svg":
		s.assets[name] = true
		return to
	case s.isDir(name) && strings.Contains(name, "testdata"):
		return relative(from, "traces.html")
	}
	return repository + name + anchor
}

// asset copies a picture of a page into the site.
func (s *site) asset(file, to string) {
	if !strings.Contains(to, ":") {
		s.assets[path.Join(path.Dir(file), to)] = true
	}
}

// anchors makes the names of headings as GitHub does: in small letters, with hyphens for spaces,
// without punctuation.
type anchors struct{ used map[string]int }

func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r > 127:
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSpace(string(value))))
	if a.used == nil {
		a.used = map[string]int{}
	}
	n := a.used[name]
	if a.used[name]++; n > 0 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return []byte(name)
}

func (a *anchors) Put(value []byte) {
	if a.used == nil {
		a.used = map[string]int{}
	}
	a.used[string(value)]++
}
