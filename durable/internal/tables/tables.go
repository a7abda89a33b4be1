// Package tables reads what a program says about a table of copies: its name, and columns such as
// image=.spec.containers[0].image. The packages of durable/ use it, so that all databases
// understand the same.
package tables

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/relist-go/relist/durable"
)

// Column is one that the program has named.
type Column struct {
	Name string
	Path []Step // one at least
}

// Step leads from a value to a part of it.
type Step struct {
	Member string // of an object; "" for an element of an array
	Index  int    // of the element, from 0
}

// Rules are those of one database.
type Rules struct {
	MaxName  int      // bytes that a name can have
	Prefix   string   // of names that the database keeps for itself
	Reserved []string // names that the database gives to columns itself
}

// ownColumns are the columns that each table or its history has.
var ownColumns = []string{
	"cluster", "key", "namespace", "name", "uid", "resource_version", "labels", "created", "object",
	"from_time", "to_time", "to_version", "ended",
	"present", // pods_history.present is an index, and a column has one of that name
}

// Prepare checks t, and returns it with its name, and its columns.
func (r Rules) Prepare(t durable.Table) (durable.Table, []Column, error) {
	if t.Resource.Resource == "" || t.Resource.Version == "" {
		return durable.Table{}, nil, errors.New("Table.Resource needs a version and a resource")
	}
	t.Name = cmp.Or(t.Name, durable.TableName(t.Resource.GroupResource()))
	if err := r.CheckName(t.Name); err != nil {
		return durable.Table{}, nil, fmt.Errorf("Table.Name %q: %w", t.Name, err)
	}
	if strings.HasPrefix(t.Name, "relist_") || strings.HasSuffix(t.Name, "_history") {
		return durable.Table{}, nil, fmt.Errorf("Table.Name %q: relist_ and _history are for tables of the package itself", t.Name)
	}
	if t.History < 0 {
		return durable.Table{}, nil, fmt.Errorf("Table.History is %v: want how long a former state is kept, or 0", t.History)
	}
	var columns []Column
	for _, text := range t.Columns {
		c, err := r.parseColumn(text)
		if err != nil {
			return durable.Table{}, nil, fmt.Errorf("column %q: %w", text, err)
		}
		if slices.ContainsFunc(columns, func(other Column) bool { return other.Name == c.Name }) {
			return durable.Table{}, nil, fmt.Errorf("column %q: there are two of this name", text)
		}
		columns = append(columns, c)
	}
	return t, columns, nil
}

// CheckName returns an error if a name would need thought in SQL.
func (r Rules) CheckName(name string) error {
	other := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' }
	if name == "" || len(name) > r.MaxName || '0' <= name[0] && name[0] <= '9' || strings.HasPrefix(name, r.Prefix) || strings.ContainsFunc(name, other) {
		return fmt.Errorf("want a to z, 0 to 9 and underscores, at most %d, and neither a digit nor %s first", r.MaxName, r.Prefix)
	}
	return nil
}

var errColumn = errors.New(`want name=.path.to.a.member, such as node=.spec.nodeName, image=.spec.containers[0].image or app=.metadata.labels["app.kubernetes.io/name"]`)

func (r Rules) parseColumn(text string) (Column, error) {
	name, path, found := strings.Cut(text, "=")
	if !found {
		return Column{}, errColumn
	}
	if err := r.CheckName(name); err != nil {
		return Column{}, fmt.Errorf("name %q: %w", name, err)
	}
	if slices.Contains(ownColumns, name) || slices.Contains(r.Reserved, name) {
		return Column{}, errors.New("every table has a column of this name already")
	}
	steps, ok := parsePath(path)
	if !ok {
		return Column{}, fmt.Errorf("path %q: %w", path, errColumn)
	}
	return Column{Name: name, Path: steps}, nil
}

// parsePath reads .a.b[0]["c.d"]. As in kubectl, .c\.d is a member whose name has a dot, too.
func parsePath(s string) ([]Step, bool) {
	var steps []Step
	for s != "" {
		var step Step
		switch {
		case s[0] == '.':
			step.Member, s = cutMember(s[1:])
		case strings.HasPrefix(s, `["`), strings.HasPrefix(s, "['"):
			member, rest, ok := strings.Cut(s[2:], s[1:2]+"]")
			if !ok {
				return nil, false
			}
			step.Member, s = member, rest
		case s[0] == '[':
			number, rest, ok := strings.Cut(s[1:], "]")
			n, err := strconv.ParseUint(number, 10, 16)
			if !ok || err != nil {
				return nil, false
			}
			steps, s = append(steps, Step{Index: int(n)}), rest
			continue
		default:
			return nil, false
		}
		if step.Member == "" || strings.IndexByte(step.Member, 0) >= 0 || !utf8.ValidString(step.Member) {
			return nil, false
		}
		steps = append(steps, step)
	}
	return steps, len(steps) > 0
}

// cutMember returns the name that s begins with, without its backslashes, and the rest of s.
func cutMember(s string) (name, rest string) {
	var member strings.Builder
	i := 0
	for ; i < len(s) && s[i] != '.' && s[i] != '['; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		member.WriteByte(s[i])
	}
	return member.String(), s[i:]
}
