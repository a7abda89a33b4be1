package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
)

// largePod is a Pod of 8 KB.
func largePod(key, version, node string) text {
	var b strings.Builder
	p := pod(key, "u", version, node)
	b.WriteString(strings.TrimSuffix(p, "]}}"))
	for i := 0; b.Len() < 8<<10; i++ {
		fmt.Fprintf(&b, `,{"name":"container-%d","image":"registry.example/team/program:%d","env":[{"name":"SOME_VARIABLE","value":"a value of some length"}],`+
			`"resources":{"limits":{"cpu":"100m","memory":"64Mi"},"requests":{"cpu":"50m"}},"terminationMessagePolicy":"File"}`, i, i)
	}
	b.WriteString("]}}")
	return b.String()
}

func largePods(n int, version string) []durable.Change[text] {
	changes := make([]durable.Change[text], 0, n)
	for i := range n {
		key := fmt.Sprint("namespace-", i%20, "/web-", i)
		changes = append(changes, durable.Change[text]{Meta: meta(key, "u", version), Op: durable.Put, Object: largePod(key, version, fmt.Sprint("node-", i%100))})
	}
	return changes
}

func benchRig(b *testing.B, table sqlite.Table) *sqlite.Copy[text] {
	b.Helper()
	db, err := sqlite.Open(filepath.Join(b.TempDir(), "copy.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	table.Resource = pods
	c, err := sqlite.New(db, table, encode)
	if err == nil {
		_, err = c.Load(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func commit(b *testing.B, c *sqlite.Copy[text], at, next durable.State, changes []durable.Change[text]) {
	b.Helper()
	tx, err := c.Begin(b.Context(), at, false)
	if err == nil {
		err = tx.Write(b.Context(), changes)
	}
	if err == nil {
		err = tx.Commit(b.Context(), next)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWrite writes a batch of 500 Pods of 8 KB in a transaction, to 10,000 rows.
func BenchmarkWrite(b *testing.B) {
	columns := []string{"node=.spec.nodeName", "image=.spec.containers[0].image"}
	for _, bench := range []struct {
		name  string
		table sqlite.Table
		same  bool
	}{
		{name: "Plain"},
		{name: "Same", same: true},
		{name: "Columns", table: sqlite.Table{Columns: columns}},
		{name: "SameColumns", table: sqlite.Table{Columns: columns}, same: true},
		{name: "History", table: sqlite.Table{Columns: columns, History: true, Retention: time.Nanosecond}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := benchRig(b, bench.table)
			versions := [][]durable.Change[text]{largePods(10000, "1"), largePods(10000, "2")}
			at, next := durable.State{}, state(1, "1")
			commit(b, c, at, next, versions[0])
			at = next
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				batch := n * 500 % 10000
				version := 0
				if !bench.same {
					version = 1 - n*500/10000%2
				}
				n++
				next := state(1, fmt.Sprint(n+1))
				commit(b, c, at, next, versions[version][batch:batch+500])
				at = next
			}
		})
	}
}

func BenchmarkHeld(b *testing.B) {
	c := benchRig(b, sqlite.Table{})
	changes := largePods(10000, "1")
	commit(b, c, durable.State{}, state(1, "1"), changes)
	keys := make([]string, 256)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range keys {
			keys[i] = changes[(n+i*37)%len(changes)].Meta.Key
		}
		n++
		if _, err := c.Held(b.Context(), keys); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKeys reads 1,000 keys.
func BenchmarkKeys(b *testing.B) {
	c := benchRig(b, sqlite.Table{})
	commit(b, c, durable.State{}, state(1, "1"), largePods(10000, "1"))
	after := ""
	b.ReportAllocs()
	for b.Loop() {
		keys, err := c.Keys(b.Context(), after, 1000)
		if err != nil {
			b.Fatal(err)
		}
		if after = ""; len(keys) == 1000 {
			after = keys[999]
		}
	}
}
