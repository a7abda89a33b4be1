// Package jsonpath prints fields of an object by a template, in the part of kubectl's
// JSONPath that people type every day:
//
//	{.metadata.name}                               a field
//	{.metadata.labels.app\.kubernetes\.io/name}    a field with dots in its name
//	{.metadata.labels['app.kubernetes.io/name']}   the same
//	{.spec.containers[0].image} {...[-1]}          an element, also counted from the end
//	{.spec.containers[*].image}                    all elements, or all values of an object
//	{.status.conditions[?(@.type=="Ready")].status}
//	{range .spec.containers[*]}{.name}{"\n"}{end}  a template for each; {$.x} is of the whole object
//
// Everything else, such as {..name} and slices, is an error that says what is understood.
// A field that is not there prints nothing.
//
// Source: https://kubernetes.io/docs/reference/kubectl/jsonpath/
//
// Begin with Parse, or with ParsePath for a path alone.
package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
)

// Template is a parsed template. It may be used by several goroutines.
type Template struct{ nodes []node }

// node is text, a path, or a range over a path.
type node struct {
	text    string
	path    *Path
	inRange []node // what is printed for each; nil if the node is no range
}

// Parse parses a template: text with paths in braces.
func Parse(template string) (*Template, error) {
	if !strings.Contains(template, "{") {
		return nil, fmt.Errorf("jsonpath %q has no path: write it in braces, such as {.metadata.name}", template)
	}
	p := &templateParser{rest: template}
	nodes, err := p.nodes(false)
	if err != nil {
		return nil, fmt.Errorf("jsonpath %q: %w", template, err)
	}
	return &Template{nodes: nodes}, nil
}

type templateParser struct{ rest string }

// nodes parses up to the end of the template or, inside of a range, up to {end}.
func (p *templateParser) nodes(inRange bool) ([]node, error) {
	nodes := []node{}
	for p.rest != "" {
		text, rest, found := strings.Cut(p.rest, "{")
		if text != "" {
			nodes = append(nodes, node{text: text})
		}
		if !found {
			p.rest = ""
			break
		}
		end := closingBrace(rest)
		if end < 0 {
			return nil, fmt.Errorf("{%s is not closed by }", rest)
		}
		inner := strings.TrimSpace(rest[:end])
		p.rest = rest[end+1:]
		if inner == "end" {
			if !inRange {
				return nil, fmt.Errorf("{end} without {range}")
			}
			return nodes, nil
		}
		n, err := p.node(inner)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	if inRange {
		return nil, fmt.Errorf("{range} without {end}")
	}
	return nodes, nil
}

// node parses what stands in braces.
func (p *templateParser) node(inner string) (node, error) {
	switch {
	case inner == "":
		return node{}, fmt.Errorf("nothing stands between { and }")
	case inner[0] == '"' || inner[0] == '\'':
		text, rest, err := cutQuoted(inner)
		if err == nil && rest != "" {
			err = fmt.Errorf("%q stands after the string %s", rest, inner[:len(inner)-len(rest)])
		}
		return node{text: text}, err
	}
	over, isRange := strings.CutPrefix(inner, "range ")
	if !isRange {
		path, err := ParsePath(inner)
		return node{path: path}, err
	}
	path, err := ParsePath(strings.TrimSpace(over))
	if err != nil {
		return node{}, err
	}
	body, err := p.nodes(true)
	return node{path: path, inRange: body}, err
}

// closingBrace returns the index of the closing brace. A brace inside of quotes does
// not count.
func closingBrace(s string) int {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++ // what follows has no meaning
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '}':
			return i
		}
	}
	return -1
}

// cutQuoted takes a string in single or double quotes off s. Escapes are those of Go.
func cutQuoted(s string) (text, rest string, err error) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			text, err := unquote(s[1:i], quote)
			return text, s[i+1:], err
		}
	}
	return "", "", fmt.Errorf("the string %s has no end", s)
}

func unquote(s string, quote byte) (string, error) {
	var b strings.Builder
	for rest := s; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return "", fmt.Errorf("the string %c%s%c has an escape that is not understood", quote, s, quote)
		}
		if multibyte || r < 0x80 {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r)) // \xff
		}
		rest = tail
	}
	return b.String(), nil
}

// Execute returns what the template prints of an object, which is made of maps, slices
// and plain values as encoding/json makes them. format writes a value that is no object
// and no array; several values of one path are separated by spaces.
func (t *Template) Execute(object any, format func(any) string) string {
	var b strings.Builder
	execute(&b, t.nodes, object, object, format)
	return b.String()
}

func execute(b *strings.Builder, nodes []node, root, at any, format func(any) string) {
	for _, n := range nodes {
		switch {
		case n.path == nil:
			b.WriteString(n.text)
		case n.inRange != nil:
			for _, each := range n.path.find(root, at) {
				execute(b, n.inRange, root, each, format)
			}
		default:
			for i, v := range n.path.find(root, at) {
				if i > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(format(v))
			}
		}
	}
}
