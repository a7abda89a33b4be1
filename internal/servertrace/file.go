// Package servertrace plays golden traces of a server of lists and watches: the author writes what
// readers ask and what changes, and a run writes what each request gets. The files are in
// server/testdata, and docs/trace-format.md describes them. Package trace plays the client's half.
//
// It stands here because three servers play the same files: apitest, a relay in front of it, and a
// real kube-apiserver (test/conformance/apiserver).
package servertrace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// File is a parsed trace.
type File struct {
	// Servers are those that the file is played to: the heading "# server: apitest, relay". The
	// lines of the run are those of the first.
	Servers []string

	lines []line
}

type line struct {
	text    string
	run     bool             // the run writes it
	do      func(*run) error // what the author wants; nil for comments and empty lines
	answers int              // below it
}

// Parse reads a trace. It returns an error, with the number of the line, for what it does not
// understand.
func Parse(src []byte) (*File, error) {
	f := &File{}
	started, above := false, -1 // the line of the author that caused those of the run, if one can follow
	for i, text := range strings.Split(strings.TrimSuffix(string(src), "\n"), "\n") {
		l := line{text: text, run: text != "" && strings.IndexByte("<=~\t", text[0]) >= 0}
		var err error
		if !l.run && text != "" && text[0] != '#' {
			l.do, err = parseAction(text)
		}
		isStart := strings.HasPrefix(text+" ", "start ")
		servers, named := strings.CutPrefix(text, "# server: ")
		switch {
		case err != nil:
		case strings.Contains(text, "\r"):
			err = errors.New("a carriage return: a line ends without one")
		case i == 0 && !named:
			err = errors.New(`want the heading "# server: NAME, ..." first`)
		case i == 0:
			f.Servers = strings.Split(servers, ", ")
		case l.run && !runLine.MatchString(text):
			err = errors.New("want < NAME answer, = what was written, ~ time, or an object behind a TAB")
		case l.run && above < 0:
			err = errors.New("a line of the run must follow what caused it directly")
		case l.do != nil && isStart == started:
			err = errors.New("start is the first command, and stands there once")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		started = started || isStart
		switch {
		case l.do != nil:
			above = i
		case !l.run:
			above = -1
		case text[0] == '<':
			f.lines[above].answers++
		}
		f.lines = append(f.lines, l)
	}
	return f, nil
}

var (
	requestLine = regexp.MustCompile(`^> ([a-z]) GET (/\S+)$`)
	runLine     = regexp.MustCompile(`^(< [a-z] |= \S|~ |\t)`)
)

func parseAction(text string) (func(*run) error, error) {
	if m := requestLine.FindStringSubmatch(text); m != nil {
		return func(r *run) error { return r.request(m[1], m[2]) }, nil
	}
	name, rest, _ := strings.Cut(text, " ")
	switch {
	case name == "start":
		return func(r *run) (err error) {
			r.server, err = r.start(rest)
			return err
		}, nil
	case name == "sleep", name == "wait":
		d, err := time.ParseDuration(rest)
		return func(r *run) error {
			visible := r.visible
			if name == "sleep" {
				visible = nil
			}
			select {
			case <-visible:
			case <-time.After(d):
			}
			return nil
		}, err
	case name == "fault":
		return func(r *run) error { return r.server.Fault(rest) }, nil
	case slices.Contains([]string{"create", "update", "delete"}, name):
		w, err := parseWrite(name, rest)
		return w.do, err
	}
	return nil, fmt.Errorf("%q: want start, > NAME GET /path, create, update, delete, fault, sleep or wait", text)
}

// A Write is a change of an object in the namespace default.
type Write struct {
	Verb     string // create, update or delete
	Resource string // configmaps, widgets.example.com
	Name     string
	Object   map[string]any // what is created, or replaces the object
}

// parseWrite reads "[resource/]name [json]".
func parseWrite(verb, text string) (w Write, err error) {
	key, object, _ := strings.Cut(text, " ")
	w = Write{Verb: verb, Resource: "configmaps", Name: key}
	if resource, name, ok := strings.Cut(key, "/"); ok {
		w.Resource, w.Name = resource, name
	}
	if err = json.Unmarshal([]byte(cmp.Or(object, "{}")), &w.Object); err == nil && w.Object == nil {
		err = errors.New("null is no object")
	}
	for field, value := range map[string]string{"name": w.Name, "namespace": "default"} { // the order does not matter
		if err == nil {
			err = unstructured.SetNestedField(w.Object, value, "metadata", field)
		}
	}
	return w, err
}

func (w Write) do(r *run) error {
	version, err := r.server.Write(w)
	r.lines = append(r.lines, fmt.Sprintf("= %s@%s", w.Name, version))
	return err
}
