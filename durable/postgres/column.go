package postgres

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/relist-go/relist/durable/internal/tables"
)

// rules are those of names. The names that are made of a name, such as that of an index, must stay
// within the 63 bytes of PostgreSQL.
var rules = tables.Rules{MaxName: 40, Prefix: "pg_", Reserved: []string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}}

// column is one that the program has named.
type column struct {
	Name string   `json:"name"`
	Path []string `json:"path"` // for the operator #>>, which takes a number for an element of an array
}

func (c column) equal(d column) bool { return c.Name == d.Name && slices.Equal(c.Path, d.Path) }

func columnOf(c tables.Column) column {
	out := column{Name: c.Name}
	for _, step := range c.Path {
		step.Member = cmp.Or(step.Member, strconv.Itoa(step.Index))
		out.Path = append(out.Path, step.Member)
	}
	return out
}

// sql returns the expression of the column, for an object. A B-tree takes entries of 2,704 bytes,
// so a longer text is cut to 500 characters, which are at most 2,000 bytes: else the index would
// refuse the row.
func (c column) sql(object string) string {
	quoted := make([]string, len(c.Path))
	for i, step := range c.Path {
		quoted[i] = quote(step)
	}
	return "left(" + object + " #>> ARRAY[" + strings.Join(quoted, ", ") + "], 500)"
}
