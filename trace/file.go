package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// File is a parsed trace.
type File struct {
	// Name is printed before the line number in messages.
	Name string

	lines []line
	as    string // the name of the program, if it is not that of the heading
}

// line is one line of a file. It keeps its text, so that a line that need not change stays the same
// byte for byte.
type line struct {
	text     string
	kind     kind
	stimulus stimulus // of a line of that kind
}

// kind says who writes a line, and what the line is for.
type kind uint8

const (
	comment  kind = iota + 1
	blank         // empty, for the reader
	stimuli       // a command, or a line of the server
	listItem      // an object of the list above; belongs to that stimulus
	observed      // a line of the run
)

// stimulus is one action that the author writes.
type stimulus interface {
	play(r *run) error
}

// Parse reads a trace. It skips nothing: it returns an error for every line that it does not
// understand. The error names the file and the line.
func Parse(name string, src []byte) (*File, error) {
	f := &File{Name: name}
	if len(src) == 0 {
		return f, nil
	}
	text, ok := strings.CutSuffix(string(src), "\n")
	if !ok {
		return nil, fmt.Errorf("%s:%d: the last line does not end", name, strings.Count(text, "\n")+1)
	}
	if strings.HasPrefix(text, "# server: ") {
		return nil, f.errorAt(0, errors.New("this trace is for servers, and go test ./server plays it; here clients are played"))
	}
	p := parser{of: configMaps}
	for text := range strings.SplitSeq(text, "\n") {
		l, err := p.line(text)
		if err != nil {
			return nil, f.errorAt(len(f.lines), err)
		}
		f.lines = append(f.lines, l)
	}
	return f, nil
}

// format returns the text of a trace. It is the inverse of [Parse]: it returns the text that Parse
// accepted.
func format(f *File) []byte {
	return join(f.texts())
}

// Differs returns the anchor in docs/differences.md that explains why another client behaves
// differently here: the heading "# differs: anchor". If the trace has no such heading, Differs
// returns "".
func (f *File) Differs() string { return f.heading("differs") }

// Program returns the name of the program that the trace is for: the heading "# program: name". If
// the trace has no such heading, Program returns "mirror".
func (f *File) Program() string { return cmp.Or(f.as, f.heading("program"), mirrorName) }

// As returns the trace for the program of another name, whatever its heading says.
func (f *File) As(name string) *File { return &File{Name: f.Name, lines: f.lines, as: name} }

// headings are the names of headings: comments "# name: value" that stand above all other lines.
var headings = []string{"differs", "program", "beside"}

// heading returns the value of a heading, or "".
func (f *File) heading(name string) string {
	for _, l := range f.lines {
		text, isComment := strings.CutPrefix(l.text, "# ")
		found, value, _ := strings.Cut(text, ": ")
		if !isComment || !slices.Contains(headings, found) {
			break
		}
		if found == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// purpose returns the comment at the beginning of a file, which says why the trace exists.
func (f *File) purpose() []string {
	for i, l := range f.lines {
		if l.kind != comment {
			return f.texts()[:i]
		}
	}
	return f.texts()
}

func (f *File) texts() []string {
	texts := make([]string, len(f.lines))
	for i, l := range f.lines {
		texts[i] = l.text
	}
	return texts
}

// errorAt adds the file and the line to err. index counts lines from zero, and messages count them
// from one.
func (f *File) errorAt(index int, err error) error {
	return fmt.Errorf("%s:%d: %w", f.Name, index+1, err)
}

func join(lines []string) []byte {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// parser is the state of Parse between lines.
type parser struct {
	started bool
	of      resource
	above   kind  // of the previous line
	list    *list // the stimulus that a list item would belong to
}

func (p *parser) line(text string) (line, error) {
	l := line{text: text}
	err := checkText(text)
	if err != nil {
		return l, err
	}
	switch first := strings.TrimLeft(text, " "); {
	case text == "":
		l.kind = blank
	case text[0] == '#':
		l.kind = comment
	case first == "" || first != text:
		err = fmt.Errorf("a line cannot begin with a space: objects begin with a TAB")
	case text[0] == '\t':
		l.kind = listItem
		err = p.item(text[1:])
	case isObserved(text):
		l.kind = observed
		err = p.observed(text)
	default:
		l.kind = stimuli
		l.stimulus, err = p.stimulus(text)
	}
	if l.kind != listItem {
		p.list, _ = l.stimulus.(*list)
	}
	p.above = l.kind
	return l, err
}

// checkText refuses bytes that an editor does not show. It refuses carriage returns also because Go
// drops them from backquoted strings.
func checkText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return errors.New(`not UTF-8: write a byte in double quotes, as \xff`)
	case strings.Contains(text, "\r"):
		return errors.New(`a carriage return: a line ends without one, and in double quotes it is written \r`)
	}
	return nil
}

// isObserved reports whether a line that is not empty is a line of the run.
func isObserved(text string) bool { return strings.IndexByte(">=!~", text[0]) >= 0 }

func (p *parser) item(text string) error {
	if p.list == nil {
		return fmt.Errorf("an object must stand below a list")
	}
	obj, err := parseObject(text)
	if err != nil {
		return err
	}
	p.list.items = append(p.list.items, obj)
	return nil
}

// observed checks that a line of the run stands where the run would write it, below a stimulus.
func (p *parser) observed(text string) error {
	if len(text) < 3 || text[1] != ' ' {
		return fmt.Errorf("%q: want a space and something after %q", text, text[:1])
	}
	if p.above != stimuli && p.above != listItem && p.above != observed {
		return fmt.Errorf("an observed line must follow what caused it directly")
	}
	return nil
}

func (p *parser) stimulus(text string) (stimulus, error) {
	answer, isAnswer := strings.CutPrefix(text, "<")
	if isAnswer {
		rest, ok := strings.CutPrefix(answer, " ")
		if !ok {
			return nil, fmt.Errorf("%q: want a space after <", text)
		}
		return parseAnswer(rest, p.of)
	}
	s, err := parseCommand(text)
	if err != nil {
		return nil, err
	}
	begin, isStart := s.(*start)
	if isStart == p.started {
		if isStart {
			return nil, fmt.Errorf("start: the program was started above; use stop and restart")
		}
		return nil, fmt.Errorf("%s: the first command must be start", text)
	}
	if isStart {
		p.of = begin.of
	}
	p.started = true
	return s, nil
}
