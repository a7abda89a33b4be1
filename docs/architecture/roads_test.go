// Package architecture writes the lists of files in docs/architecture.md, and tests what the page
// says.
package architecture

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the lists in the page")

const (
	root = "../../"
	page = "../architecture.md"
)

// road is the way of something through the files of this module, as a text beside this file tells
// it:
//
//	[a box]
//	a file | what it does
//
//	[+ a box that stands beside the one before]
//	a file | what it does
//
//	-> what leads to the boxes below
//
//	~> what leads back to the first box
type road struct {
	name string
	rows []row
	back string // empty if nothing leads back
}

// row is one or two boxes side by side.
type row struct {
	after string // what leads here
	boxes []box
}

type box struct {
	title string
	steps []step
}

type step struct{ file, does string }

// readRoad reads NAME.txt.
func readRoad(t *testing.T, name string) road {
	t.Helper()
	r := road{name: name}
	after := ""
	for line := range strings.Lines(readFile(t, name+".txt")) {
		line = strings.TrimSpace(line)
		file, does, isStep := strings.Cut(line, " | ")
		switch {
		case line == "":
		case strings.HasPrefix(line, "-> "):
			after = line[3:]
		case strings.HasPrefix(line, "~> "):
			r.back = line[3:]
		case strings.HasPrefix(line, "[+ ") && len(r.rows) > 0:
			last := &r.rows[len(r.rows)-1]
			last.boxes = append(last.boxes, box{title: strings.Trim(line[3:], "]")})
		case strings.HasPrefix(line, "["):
			r.rows = append(r.rows, row{after, []box{{title: strings.Trim(line, "[]")}}})
		case isStep && len(r.rows) > 0:
			boxes := r.rows[len(r.rows)-1].boxes
			last := &boxes[len(boxes)-1]
			last.steps = append(last.steps, step{file, does})
		default:
			t.Fatalf("%s.txt: this is no part of a road: %s", name, line)
		}
	}
	return r
}

// files returns the files that a road names, in its order.
func (r road) files() []string {
	var files []string
	for _, row := range r.rows {
		for _, b := range row.boxes {
			for _, s := range b.steps {
				files = append(files, s.file)
			}
		}
	}
	return files
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// roads are all of them.
func roads(t *testing.T) []road {
	t.Helper()
	var all []road
	for _, name := range []string{"event", "resourceversion", "error", "durable"} {
		all = append(all, readRoad(t, name))
	}
	return all
}

// A road names only files that are there, and says what each does.
func TestRoadsNameFiles(t *testing.T) {
	for _, r := range roads(t) {
		for _, row := range r.rows {
			for _, b := range row.boxes {
				for _, s := range b.steps {
					if _, err := os.Stat(filepath.Join(root, s.file)); err != nil || s.does == "" {
						t.Errorf("%s.txt: %q | %q: %v", r.name, s.file, s.does, err)
					}
				}
			}
		}
	}
}

// The page lists the files of each road. Update it with -update.
func TestPageListsTheRoads(t *testing.T) {
	for _, r := range roads(t) {
		text := readFile(t, page)
		begin, end := "<!-- listed: "+r.name+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no part between %q and %q", page, begin, end)
		}
		check(t, page, before+begin+r.list()+end+after)
	}
}

// check compares a file with what it should hold, or writes it.
func check(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { // everybody may read a page
			t.Fatal(err)
		}
		return
	}
	if got := readFile(t, file); got != want {
		t.Errorf("%s is out of date: go test ./docs/architecture -update", file)
	}
}

// list is a road as a part of the page.
func (r road) list() string {
	var b strings.Builder
	b.WriteString("\n")
	for i, row := range r.rows {
		if i > 0 {
			fmt.Fprintf(&b, "↓ %s\n\n", row.after)
		}
		for _, box := range row.boxes {
			fmt.Fprintf(&b, "**%s**\n\n", box.title)
			for n, s := range box.steps {
				fmt.Fprintf(&b, "%d. [%s](../%s): %s\n", n+1, s.file, s.file, s.does)
			}
			b.WriteString("\n")
		}
	}
	if r.back != "" {
		fmt.Fprintf(&b, "↑ %s\n\n", r.back)
	}
	return b.String()
}
