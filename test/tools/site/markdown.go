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
	tables "github.com/yuin/goldmark/extension/ast"
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
var picture = regexp.MustCompile(`(?s)<p>(<img src="[^"]+\.svg"[^>]*>)</p>|(<picture>.*?</picture>)`)

var table = regexp.MustCompile(`(?s)<table.*?</table>`)

// source is a file that a page shows.
var source = regexp.MustCompile(`(?:src|srcset)="([^":]+\.svg)"`)

// live is a trace on the front page.
const live = `<figure class="live">
<iframe src="testdata/incident-tombstone.html" title="A trace, step by step" loading="lazy"></iframe>
<figcaption>A real run, step by step: a deletion that no watch reported. <a href="testdata/incident-tombstone.html">Open it on a page of its own</a>,
or choose <a href="traces.html">another trace</a>.</figcaption>
</figure>
`

// document is a Markdown file. Its parts are what stands below each heading of the first three
// levels; the first part is the top of the page.
type document struct {
	src   []byte
	tree  ast.Node
	title string
	parts []part
}

type part struct {
	level           int
	anchor, heading string
	text            *strings.Builder
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM, highlighting.NewHighlighting(highlighting.WithFormatOptions(chroma.WithClasses(true)))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()), // the pages are ours
)

// read parses a Markdown file.
func (s *site) read(file string) error {
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
	d := &document{src: src, title: path.Base(file), parts: []part{{text: &strings.Builder{}}}}
	d.tree = markdown.Parser().Parse(text.NewReader(src), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	s.docs[file] = d
	return ast.Walk(d.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		said := d.parts[len(d.parts)-1].text
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 {
				d.title = words(n, src)
			} else if n.Level <= 3 {
				d.parts = append(d.parts, part{level: n.Level, anchor: anchor(n), heading: words(n, src), text: &strings.Builder{}})
			}
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			said.Write(n.Value(src))
			if n.SoftLineBreak() {
				said.WriteByte(' ')
			}
		case *ast.FencedCodeBlock:
			said.Write(n.Lines().Value(src))
		}
		if n.Type() == ast.TypeBlock {
			said.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
}

// anchor returns the name of a heading.
func anchor(heading ast.Node) string {
	id, _ := heading.AttributeString("id")
	return fmt.Sprintf("%s", id)
}

// words returns the text of a node.
func words(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// prose is a text of a cell that one reads, and does not compare with those beside it.
const prose = 30

// show makes a page of a document.
func (s *site) show(file string, d *document) error {
	err := ast.Walk(d.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to := s.docs[s.target(file, string(n.Destination))]
			if said := words(n, d.src); to != nil && (path.Ext(said) == ".md" || file == mapPage) {
				n.RemoveChildren(n)
				n.AppendChild(n, ast.NewString([]byte(stdhtml.EscapeString(to.title))))
			}
			n.Destination = []byte(s.link(file, string(n.Destination)))
		case *tables.TableCell:
			// On a telephone, each cell of a table of prose is a line of its own, with the name of
			// its column.
			column := n.Parent().Parent().FirstChild().FirstChild()
			for cell := n.PreviousSibling(); cell != nil; cell = cell.PreviousSibling() {
				column = column.NextSibling()
			}
			if n.Parent().Kind() == tables.KindTableRow {
				n.SetAttributeString("data-name", words(column, d.src))
			}
			if len(words(n, d.src)) > prose {
				n.Parent().Parent().SetAttributeString("class", "prose")
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, d.src, d.tree); err != nil {
		return err
	}
	body := table.ReplaceAllString(b.String(), `<div class="wide" tabindex="0" role="region" aria-label="Table">$0</div>`)
	body = picture.ReplaceAllString(body, `<div class="wide picture" tabindex="0" role="region" aria-label="Picture">$1$2</div>`)
	body = strings.ReplaceAll(body, `<pre><code class="language-mermaid">`, fmt.Sprintf(`<p><a href=%q>This diagram is drawn on GitHub</a>. Its source:</p><pre><code>`, repository+file))
	body = strings.ReplaceAll(body, "<pre>", `<pre tabindex="0">`)
	for _, shown := range source.FindAllStringSubmatch(body, -1) {
		s.assets[path.Join(path.Dir(file), shown[1])] = true
	}
	if file == frontPage {
		body = strings.Replace(body, "<h2", live+"<h2", 1)
	}
	return s.page(s.pages[file], d.title, d.contents(), body+s.turn(file))
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
	target, anchor, hasAnchor := strings.Cut(to, "#")
	if target == "" || strings.Contains(target, ":") {
		return to
	}
	name := path.Join(path.Dir(file), target)
	if hasAnchor {
		anchor = "#" + anchor
	}
	from := s.pages[file]
	if page := s.target(file, to); page != "" {
		return relative(from, s.pages[page]) + anchor
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
