package sqlite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/relist-go/relist/durable/internal/tables"
)

var rules = tables.Rules{MaxName: 60, Prefix: "sqlite_", Reserved: []string{"rowid", "oid", "_rowid_"}}

// column is one that the program has named.
type column struct {
	Name string `json:"name"`
	Path string `json:"path"` // of SQLite's JSON functions
}

// columnOf turns .a.b[0]["c.d"] into $."a"."b"[0]."c.d", the path of SQLite's JSON functions. They
// have no way to write some names. https://www.sqlite.org/json1.html#path_arguments
func columnOf(c tables.Column) (column, error) {
	path := "$"
	for _, step := range c.Path {
		switch {
		case step.Member == "":
			path += "[" + strconv.Itoa(step.Index) + "]"
		case strings.ContainsFunc(step.Member, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0xfffd }):
			return column{}, fmt.Errorf("column %q: SQLite cannot look for a member of the name %q", c.Name, step.Member)
		default:
			path += `."` + step.Member + `"`
		}
	}
	return column{Name: c.Name, Path: path}, nil
}

// literal quotes a value for SQL, where a statement of a schema cannot have a parameter.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
