package yaml

import "strings"

// blockScalar reads a literal (|) or a folded (>) scalar, whose lines are at columns
// beyond parent.
func (p *parser) blockScalar(parent int) (*Node, error) {
	folded := p.here() == '>'
	chomp, indent := byte(0), 0
	for p.i++; !isBlank(p.here()); p.i++ {
		switch c := p.here(); {
		case (c == '-' || c == '+') && chomp == 0:
			chomp = c
		case '1' <= c && c <= '9' && indent == 0:
			indent = max(parent, 0) + int(c-'0')
		default:
			return nil, p.errorf("did not find expected comment or line break")
		}
	}
	if !p.blankLine() {
		return nil, p.errorf("did not find expected comment or line break")
	}
	p.nextLine()
	if indent == 0 {
		indent = p.detect(max(parent+1, 1))
	}

	lines := p.blockLines(indent)
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	text := join(lines[:end], folded)
	switch chomp {
	case '+':
		text += strings.Repeat("\n", len(lines)-end)
		fallthrough
	case 0:
		if end > 0 && (end < len(lines) || strings.HasSuffix(p.src[:p.i], "\n")) {
			text += "\n"
		}
	}
	return &Node{text: text, size: 1}, nil
}

// blankLine reports whether nothing but a comment is left of the line.
func (p *parser) blankLine() bool {
	rest := strings.TrimLeft(p.rest(), " \t")
	return rest == "" || rest[0] == '#' && isBlank(p.here())
}

func (p *parser) nextLine() { p.i = min(p.i+len(p.rest())+1, len(p.src)) }

// detect returns the column of the first line that is not empty.
func (p *parser) detect(least int) int {
	before := p.i
	defer func() { p.i = before }()
	indent := 0
	for ; p.i < len(p.src); p.nextLine() {
		rest := p.rest()
		text := strings.TrimLeft(rest, " ")
		indent = max(indent, len(rest)-len(text))
		if text != "" {
			break
		}
	}
	return max(indent, least)
}

// blockLines returns lines without their indentation, up to the first that stands
// further to the left.
func (p *parser) blockLines(indent int) (lines []string) {
	for ; p.i < len(p.src); p.nextLine() {
		rest := p.rest()
		spaces := len(rest) - len(strings.TrimLeft(rest, " "))
		if spaces < indent && spaces < len(rest) || p.ended() {
			break
		}
		lines = append(lines, rest[min(indent, len(rest)):])
	}
	return lines
}

// join puts lines together. Folding makes a space of what is between two lines that
// begin with neither a space nor a tab.
func join(lines []string, folded bool) string {
	if !folded {
		return strings.Join(lines, "\n")
	}
	var text strings.Builder
	empty, indented := 0, true // a line feed before the first line is one
	for i, line := range lines {
		if line == "" {
			empty++
			continue
		}
		further := isBlank(line[0])
		switch {
		case i == empty: // the first
			text.WriteString(strings.Repeat("\n", empty))
		case indented || further:
			text.WriteString(strings.Repeat("\n", empty+1))
		case empty > 0:
			text.WriteString(strings.Repeat("\n", empty))
		default:
			text.WriteByte(' ')
		}
		text.WriteString(line)
		empty, indented = 0, further
	}
	return text.String()
}
