package main

import (
	"bytes"
	"fmt"
	stdhtml "html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	chroma "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/yuin/goldmark"
	highlighting "github.com/yuin/goldmark-highlighting/v2"
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
var picture = regexp.MustCompile(`(?s)<p>(<img src="[^"]+\.svg"[^>]*>|<picture>.*?</picture>)</p>`)

var table = regexp.MustCompile(`(?s)<table.*?</table>`)

// tableCode is code in a table. A query there may break before each parameter.
var tableCode = regexp.MustCompile(`<code>[^<]*</code>`)

// drawing is a picture that a page shows or leads to.
var drawing = regexp.MustCompile(`(?:src|srcset|href)="([^":]+\.svg)"`)

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM, highlighting.NewHighlighting(highlighting.WithFormatOptions(chroma.WithClasses(true)))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()), // the pages are ours
)

// documents makes a page of each Markdown file.
func (s *site) documents() error {
	for _, file := range s.files {
		if s.titles[file] == "" {
			continue
		}
		if err := s.document(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

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
	doc := markdown.Parser().Parse(text.NewReader(src), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			title := s.titles[s.target(file, string(link.Destination))]
			if name, ok := n.FirstChild().(*ast.Text); ok && title != "" && (file == mapPage || path.Ext(string(name.Value(src))) == ".md") {
				n.ReplaceChild(n, name, ast.NewString([]byte(stdhtml.EscapeString(title))))
			}
			link.Destination = []byte(s.link(file, string(link.Destination)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, src, doc); err != nil {
		return err
	}
	body := table.ReplaceAllStringFunc(b.String(), func(table string) string {
		table = tableCode.ReplaceAllStringFunc(table, func(code string) string { return strings.ReplaceAll(code, "&amp;", "&amp;<wbr>") })
		return `<div class="wide" tabindex="0" role="region" aria-label="Table">` + table + `</div>`
	})
	body = picture.ReplaceAllString(body, `<div class="wide picture" tabindex="0" role="region" aria-label="Picture">$1</div>`)
	body = strings.ReplaceAll(body, `<pre><code class="language-mermaid">`, fmt.Sprintf(`<p><a href=%q>This diagram is drawn on GitHub</a>. Its source:</p><pre><code>`, repository+file))
	body = strings.ReplaceAll(body, "<pre", `<pre tabindex="0"`)
	for _, shown := range drawing.FindAllStringSubmatch(body, -1) {
		name := path.Join(path.Dir(file), shown[1])
		picture, err := os.ReadFile(filepath.Join(s.root, name))
		if err != nil {
			return err
		}
		if err := s.write(name, string(picture)); err != nil {
			return err
		}
	}
	page, title := s.pages[file], s.titles[file]
	contents := s.contents(page, title, body)
	if file == frontPage {
		body = strings.Replace(body, "<h2", part("live.html")+"<h2", 1)
	}
	return s.page(page, title, contents, body+s.turn(file))
}

// target returns the file of a page to which a link leads; "" if it leads elsewhere.
func (s *site) target(file, to string) string {
	to, _, _ = strings.Cut(to, "#")
	name := path.Join(path.Dir(file), to)
	for _, page := range []string{name, path.Join(name, "README.md")} {
		if to != "" && !strings.Contains(to, ":") && s.pages[page] != "" {
			return page
		}
	}
	return ""
}

// link returns where a link of a page leads in the site.
func (s *site) link(file, to string) string {
	target, _, _ := strings.Cut(to, "#")
	if target == "" || strings.Contains(target, ":") {
		return to
	}
	name, from, anchor := path.Join(path.Dir(file), target), s.pages[file], to[len(target):]
	switch page := s.pages[s.target(file, to)]; {
	case page != "":
		return relative(from, page) + anchor
	case path.Ext(name) == ".svg":
		return to
	case path.Ext(name) == "" && strings.Contains(name, "testdata"):
		return relative(from, "traces.html")
	}
	return repository + name + anchor
}

// anchors makes the names of headings as GitHub does: in small letters, with hyphens for spaces,
// without punctuation.
type anchors map[string]int // how often each was used

func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r > 127:
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSpace(string(value))))
	n := a[name]
	if a[name]++; n > 0 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return []byte(name)
}

func (a anchors) Put(value []byte) {
	a[string(value)]++
}
