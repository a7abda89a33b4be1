package show

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/relist-go/relist/cmd/relist/internal/jsonpath"
	"github.com/relist-go/relist/internal/visible"
)

// Columns are the columns of a table of objects.
type Columns []Column

// Column is a heading and the cells below it.
type Column struct {
	Heading string
	Cell    func(object map[string]any, now time.Time) string
}

// ParseColumns parses columns as kubectl's custom-columns has them: NAME:.metadata.name,IMAGE:.spec.containers[*].image.
func ParseColumns(spec string) (Columns, error) {
	var columns Columns
	for _, part := range splitColumns(spec) {
		heading, text, found := strings.Cut(part, ":")
		if !found || heading == "" || text == "" {
			return nil, fmt.Errorf("column %q: want HEADING:PATH, such as NAME:.metadata.name", part)
		}
		if inner, ok := strings.CutPrefix(text, "{"); ok {
			text = strings.TrimSuffix(inner, "}")
		}
		path, err := jsonpath.ParsePath(text)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", heading, err)
		}
		columns = append(columns, Column{heading, func(object map[string]any, _ time.Time) string { return join(path.Find(object)) }})
	}
	return columns, nil
}

// splitColumns splits at commas that stand in no brackets.
func splitColumns(spec string) []string {
	depth := 0
	return strings.FieldsFunc(spec, func(r rune) bool {
		switch r {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		}
		return r == ',' && depth == 0
	})
}

// none stands in a cell for a field that is not there, as kubectl writes it.
const none = "<none>"

func join(values []any) string {
	if len(values) == 0 {
		return none
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = Value(v)
	}
	return strings.Join(texts, ",")
}

// DefaultColumns are NAMESPACE, if objects have one, NAME and AGE.
func DefaultColumns(namespaced bool) Columns {
	columns := Columns{
		{"NAME", func(object map[string]any, _ time.Time) string { return metadata(object, "name") }},
		{"AGE", age},
	}
	if namespaced {
		columns = append(Columns{{"NAMESPACE", func(object map[string]any, _ time.Time) string { return metadata(object, "namespace") }}}, columns...)
	}
	return columns
}

func metadata(object map[string]any, name string) string {
	fields, _ := object["metadata"].(map[string]any)
	if text, ok := fields[name].(string); ok && text != "" {
		return Value(text)
	}
	return none
}

func age(object map[string]any, now time.Time) string {
	created, err := time.Parse(time.RFC3339, metadata(object, "creationTimestamp"))
	if err != nil {
		return none
	}
	return duration.HumanDuration(now.Sub(created))
}

// Headings returns the first row.
func (c Columns) Headings() []string {
	row := make([]string, len(c))
	for i := range c {
		row[i] = visible.OneLine(c[i].Heading)
	}
	return row
}

// Row returns the row of an object.
func (c Columns) Row(object map[string]any, now time.Time) []string {
	row := make([]string, len(c))
	for i := range c {
		row[i] = c[i].Cell(object, now)
	}
	return row
}
