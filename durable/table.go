package durable

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Table says where a copy in a database keeps its rows, and how. The packages sqlite and postgres
// make it.
type Table struct {
	// Resource is what the rows are.
	Resource schema.GroupVersionResource

	// Cluster is the name in the column cluster, for example "east". Copies of several clusters are
	// in one table, so that one query sees all of them; each has its own state. It may be empty if
	// there is only one.
	Cluster string

	// Name is the name of the table: small letters, digits and underscores, at most 40 in
	// PostgreSQL and 60 in SQLite. If it is empty, it is the resource, and the group if there is
	// one: pods, deployments_apps. If that is longer than 40, it is cut, and ends with a hash of
	// the whole. Two copies of one resource of one cluster need different names, for example if
	// each is of one namespace.
	Name string

	// Columns are more columns, each with an index. "node=.spec.nodeName" makes the column node:
	// the value of that member, NULL if an object has none. "[0]" chooses an element of an array,
	// and `["a.b"]` is a member whose name has a dot. In SQLite, a value is text, a number, 0 or 1
	// for false and true, or the JSON of an array or object; in PostgreSQL, it is text, and cut to
	// 500 characters, because an index takes no more. All rows have the columns at once, those of
	// the history, too, and nothing is listed for that; but PostgreSQL updates each row that has a
	// value. Copies in one table must have the same columns. A column that is no longer named goes.
	Columns []string

	// History is how long a former state is kept after it has ended. They are in a second table,
	// see the packages. If zero, no former state is kept; a negative one is an error.
	History time.Duration
}

// longestName is how long a name can be in every database.
const longestName = 40

// TableName returns the name that the table of a resource has if [Table.Name] is empty.
func TableName(resource schema.GroupResource) string {
	full := resource.Resource
	if resource.Group != "" {
		full += "_" + resource.Group
	}
	full = strings.ToLower(full)
	name := strings.Map(func(c rune) rune {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return '_'
		}
		return c
	}, full)
	if len(name) <= longestName {
		return name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(full)) // a hash takes everything
	return fmt.Sprintf("%s_%08x", name[:longestName-9], hash.Sum32())
}
