package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relist-go/relist/internal/programs"
	"github.com/relist-go/relist/trace"
)

// entry is a trace in the index.
type entry struct{ file, name, page, folder, program, purpose string }

// headerMark stands in the page of a trace where a site puts its header.
const headerMark = "<!-- header of a site -->"

// record makes a page of each trace. A trace for a program that only a test has is shown as its
// file says, and not run.
func (s *site) record() error {
	for _, file := range s.files {
		if path.Ext(file) != ".txt" || !strings.Contains(file, "testdata/") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(s.root, file))
		if err != nil {
			return err
		}
		f, err := trace.Parse(file, src)
		if err != nil || !bytes.Contains(append([]byte("\n"), src...), []byte("\nstart")) {
			continue // another kind of file
		}
		recording := trace.Transcript(f)
		ours := !strings.HasPrefix(file, "test/")
		if program, err := programs.Named(f.Program()); ours && err == nil {
			if recording, err = trace.Record(f, program); err != nil {
				var failure *trace.Failure
				if !errors.As(err, &failure) {
					return err
				}
				fmt.Printf("%s does not pass; its page shows how\n", file)
			}
		}
		e := entry{
			file: file, name: strings.TrimSuffix(path.Base(file), ".txt"), page: strings.TrimSuffix(file, ".txt") + ".html",
			folder: path.Dir(file), program: f.Program(), purpose: strings.Join(recording.Purpose(), " "),
		}
		if !ours {
			e.program = "client-go"
		}
		s.traces = append(s.traces, e)
		s.pages[file] = e.page
		why := `<h3>Why: <a href="{{root}}docs/states.html">a row of the states</a></h3>`
		page := fill(string(recording.HTML()), headerMark, s.header(e.page), "<h3>Why</h3>", why)
		if err := s.write(e.page, page); err != nil {
			return err
		}
	}
	return nil
}

// index writes the list of all traces, in the order and below the headings of testdata/README.md.
// The others follow, below their folders. Without a script, it is the whole list.
func (s *site) index() error {
	readme, err := os.ReadFile(filepath.Join(s.root, "testdata/README.md"))
	if err != nil {
		return err
	}
	at := func(e entry) int {
		return bytes.Index(readme, []byte("]("+strings.TrimPrefix(e.file, "testdata/")+")"))
	}
	slices.SortStableFunc(s.traces, func(a, b entry) int { return cmp.Compare(uint(at(a)), uint(at(b))) }) // -1 comes last
	last := ""
	var b strings.Builder
	fmt.Fprintf(&b, `<h1>Traces</h1>
<p>Each is a conversation between an API server and a watch client, run in virtual time, and each page steps through it: the wire, the
machine, the queue, the store and the callbacks. <a href="docs/trace-format.html">The trace format</a> describes the files.</p>
<form class="filter" role="search" onsubmit="return false">
<label for="filter">Filter</label> <input id="filter" type="search" autocomplete="off" placeholder="410, bookmark, websocket …">
<output id="found" for="filter">%d traces</output></form>
<div id="traces">
`, len(s.traces))
	for _, e := range s.traces {
		group := e.folder
		if n := at(e); n >= 0 {
			_, below, _ := strings.Cut(string(readme[bytes.LastIndex(readme[:n], []byte("\n## ")):n]), "## ")
			group, _, _ = strings.Cut(below, "\n")
		}
		if group != last {
			b.WriteString(map[bool]string{true: "</ul></section>\n"}[last != ""])
			fmt.Fprintf(&b, "<section><h2>%s</h2><ul class=\"traces\">\n", html.EscapeString(group))
			last = group
		}
		fmt.Fprintf(&b, "<li><a href=%q>%s</a> <span class=\"of\">%s · %s</span><p>%s</p></li>\n", e.page,
			html.EscapeString(e.name), html.EscapeString(e.program), html.EscapeString(e.folder), html.EscapeString(e.purpose))
	}
	return s.page("traces.html", "Traces", "", b.String()+"</ul></section></div>\n<script>\n"+part("filter.js")+"</script>\n")
}
