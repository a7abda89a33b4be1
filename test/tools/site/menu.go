package main

import (
	"fmt"
	"html"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

// The menu is what the map of the pages lists, by shelf. Before the shelves stands the page to
// begin with.
const (
	frontPage = "README.md"
	firstPage = "docs/getting-started.md"
	mapPage   = "docs/README.md"
)

// shelf is a heading of the map, and the pages to which its table links.
type shelf struct {
	name, anchor string
	files        []string
}

// shelves reads the menu from the map. After the README of a folder come the pages of that folder
// that the map does not list; they are below it.
func (s *site) shelves() error {
	doc := s.docs[mapPage]
	listed := map[string]bool{firstPage: true}
	s.menu = []shelf{{files: []string{firstPage}}}
	err := ast.Walk(doc.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if heading, ok := n.(*ast.Heading); ok && entering && heading.Level == 2 {
			name, _, _ := strings.Cut(words(n, doc.src), ":")
			s.menu = append(s.menu, shelf{name: name, anchor: "#" + anchor(n)})
		}
		link, ok := n.(*ast.Link)
		if !ok || !entering || n.Parent().Kind() != tables.KindTableCell || n.Parent().PreviousSibling() != nil {
			return ast.WalkContinue, nil
		}
		if file := s.target(mapPage, string(link.Destination)); s.docs[file] != nil && !listed[file] {
			listed[file] = true
			last := &s.menu[len(s.menu)-1]
			last.files = append(last.files, file)
		}
		return ast.WalkContinue, nil
	})
	for i, shelf := range s.menu {
		s.menu[i].files = nil
		for _, file := range shelf.files {
			s.menu[i].files = append(s.menu[i].files, file)
			for _, other := range s.files {
				if path.Base(file) == "README.md" && path.Dir(other) == path.Dir(file) && s.docs[other] != nil && !listed[other] {
					s.menu[i].files, s.below[other] = append(s.menu[i].files, other), true
				}
			}
		}
	}
	return err
}

// header returns what stands above every page: a few links, the search and the menu.
func (s *site) header(from string) string {
	var b strings.Builder
	item := func(to, name string) {
		current := map[bool]string{true: ` aria-current="page"`}[to == from]
		fmt.Fprintf(&b, "<a href=%q%s>%s</a>\n", relative(from, to), current, html.EscapeString(name))
	}
	fmt.Fprintf(&b, `<link rel="stylesheet" href=%q>
<script src=%q></script>
<header class="site">
<a class="skip" href="#main">Skip to the page</a>
<a class="brand" href=%q>relist</a>
<button type="button" popovertarget="menu">Menu</button>
<nav aria-label="Site">
`, relative(from, "frame.css"), relative(from, "site.js"), relative(from, "index.html"))
	item(s.pages[firstPage], s.docs[firstPage].title)
	item(s.pages[mapPage], "All pages")
	item("traces.html", "Traces")
	fmt.Fprintf(&b, `</nav>
<form role="search" action=%q><input type="search" name="q" aria-label="Search" placeholder="Search" autocomplete="off"></form>
</header>
<nav id="menu" popover aria-label="Pages">
`, relative(from, "search.html"))
	for _, shelf := range s.menu {
		if shelf.name != "" {
			b.WriteString(`<p class="shelf">`)
			item(s.pages[mapPage]+shelf.anchor, shelf.name)
			b.WriteString("</p>\n")
		}
		b.WriteString("<ul>\n")
		for _, file := range shelf.files {
			if s.below[file] && path.Dir(s.pages[file]) != path.Dir(from) {
				continue // it is shown to those who read in its folder
			}
			fmt.Fprintf(&b, "<li%s>", map[bool]string{true: ` class="below"`}[s.below[file]])
			item(s.pages[file], s.docs[file].title)
			b.WriteString("</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	return b.String() + "</nav>\n"
}

// turn returns the links from a page to the one before it in the menu, and the one after it.
func (s *site) turn(file string) string {
	order := []string{frontPage}
	for _, shelf := range s.menu {
		order = append(order, shelf.files...)
	}
	var links string
	for i := range order {
		if i > 0 && order[i] == file {
			links += fmt.Sprintf("<a rel=\"prev\" href=%q>%s</a>\n", relative(s.pages[file], s.pages[order[i-1]]), html.EscapeString(s.docs[order[i-1]].title))
		}
		if i > 0 && order[i-1] == file {
			links += fmt.Sprintf("<a rel=\"next\" href=%q>%s</a>\n", relative(s.pages[file], s.pages[order[i]]), html.EscapeString(s.docs[order[i]].title))
		}
	}
	if links == "" {
		return ""
	}
	return "<nav class=\"turn\" aria-label=\"Before and after this page\">\n" + links + "</nav>\n"
}

// contents returns the links to the headings of a page.
func (d *document) contents() string {
	var b strings.Builder
	for _, part := range d.parts {
		if part.level == 2 || part.level == 3 {
			fmt.Fprintf(&b, "<li class=\"level%d\"><a href=%q>%s</a></li>\n", part.level, "#"+part.anchor, html.EscapeString(part.heading))
		}
	}
	if strings.Count(b.String(), "<li") < 2 {
		return ""
	}
	return "<button type=\"button\" popovertarget=\"contents\">On this page</button>\n" +
		"<nav id=\"contents\" popover aria-label=\"On this page\">\n<p>On this page</p>\n<ul>\n" + b.String() + "</ul></nav>\n"
}
