package durabletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/object"
)

// This file has the checks of the rows, and of transactions.

func writeOrder[T object.Object](r *rig[T]) {
	c := r.open()
	changes := []durable.Change[T]{
		r.put("default/a", "1", `"data":{"n":"1"}`),
		r.put("default/b", "2", `"data":{"n":"1"}`),
		r.put("default/a", "3", `"data":{"n":"2"}`), // the same key again
		gone[T](durable.Deleted, "default/b", "4"),
		gone[T](durable.Deleted, "default/b", "4"), // a server may repeat events
		gone[T](durable.Inferred, "default/never", "4"),
		r.put("default/c", "5", ""),
		gone[T](durable.Inferred, "default/c", "5"),
		r.put("default/c", "6", `"data":{"n":"3"}`), // made again
		r.put("default/d", "7", ""),
	}
	rows := rowsAfter(r, nil, changes...)
	state := c.commit(c.load(), at(1, "10"), changes)
	c.wantRows(rows, "after one key was changed several times in one Write")

	// The same again, with a Write for each change, and with rows that are there already.
	var writes [][]durable.Change[T]
	for _, change := range changes {
		writes = append(writes, []durable.Change[T]{change})
	}
	state = c.commit(state, at(1, "11"), writes...)
	c.wantRows(rows, "after one key was changed several times in one transaction")

	deleted := r.put("default/a", "12", "")
	deleted.Op = durable.Deleted // with its last state, and a version that the row does not have
	another := deleted
	another.Meta = object.Meta{Key: "default/c", UID: "another", ResourceVersion: "12"}
	replaced := r.putMeta(object.Meta{Key: "default/d", UID: "the-next", ResourceVersion: "13"}, `"data":{"n":"4"}`)
	later := []durable.Change[T]{deleted, another, replaced, gone[T](durable.Unselected, "default/none", "1")}
	rows = rowsAfter(r, rows, later...)
	state = c.commit(state, at(1, "13"), later, nil)
	c.wantRows(rows, "after deletions, and a Put over the row of another UID")
	back := r.putMeta(object.Meta{Key: "default/d", UID: "the-next", ResourceVersion: "2"}, `"data":{"n":"5"}`) // a backup was restored
	rows = rowsAfter(r, rows, back)
	state = c.commit(state, at(1, "3"), []durable.Change[T]{back})
	c.wantRows(rows, "after a Put whose version is older than the row's")
	for i, how := range []durable.Op{durable.Deleted, durable.Inferred, durable.Unselected} {
		key := fmt.Sprintf("default/how-%d", i)
		state = c.commit(state, at(1, fmt.Sprint(14+2*i)), []durable.Change[T]{r.put(key, "14", "")})
		state = c.commit(state, at(1, fmt.Sprint(15+2*i)), []durable.Change[T]{gone[T](how, key, "14")})
		c.wantRows(rows, "after a change that is "+how.String())
	}
}

// metaIsTheRows wants that a row has the Meta of the change, even if a transform has removed parts
// of it from the object.
func metaIsTheRows[T object.Object](r *rig[T]) {
	c := r.open()
	meta := object.Meta{Key: "default/a", UID: "the-uid", ResourceVersion: "5"}
	bare := durable.Change[T]{Meta: meta, Object: r.object(object.Meta{Key: "default/a"}, ""), Op: durable.Put}
	unknown := r.putMeta(object.Meta{Key: "default/b"}, "") // a server that tells neither UID nor version
	c.commit(c.load(), at(1, "10"), []durable.Change[T]{bare, unknown})
	c.wantRows(rowsAfter(r, nil, bare, unknown), "after a Put with a Meta that the object lacks")
}

func writeKeepsNoSlice[T object.Object](r *rig[T]) {
	c := r.open()
	tx := c.begin(c.load())
	changes := []durable.Change[T]{r.put("default/a", "1", ""), r.put("default/b", "2", "")}
	rows := rowsAfter(r, nil, changes...)
	c.write(tx, changes...)
	clear(changes)
	copy(changes, []durable.Change[T]{r.put("default/c", "3", ""), r.put("default/d", "4", "")})
	r.end(tx, at(1, "10"))
	c.wantRows(rows, "after the caller has changed the slice that it had given to Write")
}

// oddNames are the names that some resource allows, and more: a server can say anything.
var oddNames = []string{
	"A", "B", "Z", "a", "aa", "b", "z", "0", "9", "a.b", "a-b", "a_b", "a%b", "a%", "%", "_", "axb", "a:b", "system:node", "system:nodes",
	"Upper.Case", "it's", `"quoted"`, `back\slash`, "semi;colon", "--", "a b", " lead", "trail ", "$1", "?", "?1", ":name", "@p", "`tick`",
	"[x]", "{y}", "*", "a*", "null", "NULL", "true", "é", "e\u0301", "ß", "ı", "日本", "\uff5e", "\U0001f600", "~", "line\nbreak", "tab\t",
	"../up", ".", "..", strings.Repeat("n", 253), strings.Repeat("N", 253),
}

func oddKeys[T object.Object](r *rig[T]) {
	c := r.open()
	long := strings.Repeat("s", 63)
	var changes []durable.Change[T]
	for i, name := range oddNames {
		changes = append(changes, r.put("default/"+name, fmt.Sprint(i+1), ""), r.put(long+"/"+name, fmt.Sprint(i+1), ""))
		if !strings.Contains(name, "/") {
			changes = append(changes, r.put(name, fmt.Sprint(i+1), "")) // of the cluster
		}
	}
	rows := rowsAfter(r, nil, changes...)
	state := c.commit(c.load(), at(1, "10"), changes)
	c.wantRows(rows, "after Puts of odd keys")
	// Deleting one of them must delete no other.
	for i, key := range slices.Sorted(maps.Keys(rows)) {
		if i%5 != 0 {
			continue
		}
		delete(rows, key)
		state = c.commit(state, at(1, fmt.Sprint(11+i)), []durable.Change[T]{gone[T](durable.Inferred, key, "1")})
		if got := len(r.place.Rows()); got != len(rows) {
			r.Fatalf("after the deletion of %q there are %d rows, want %d", key, got, len(rows))
		}
	}
	c.wantRows(rows, "after deletions of odd keys")
}

func keysInPages[T object.Object](r *rig[T]) {
	c := r.open()
	var changes []durable.Change[T]
	for _, name := range slices.Backward(oddNames) {
		changes = append(changes, r.put("default/"+name, "1", ""))
	}
	all := slices.Sorted(maps.Keys(rowsAfter(r, nil, changes...)))
	c.commit(c.load(), at(1, "10"), changes)
	for _, limit := range []int{1, 7, len(all) - 1, len(all), len(all) + 1, 1000} {
		var got []string
		for after := ""; ; {
			page := c.keys(after, limit)
			if len(page) > limit {
				r.Fatalf("Keys with the limit %d returned %d", limit, len(page))
			}
			if len(page) == 0 {
				break
			}
			if last := page[len(page)-1]; last <= after {
				r.Fatalf("Keys after %q returned %q, which is not greater in the order of bytes", after, last)
			}
			got, after = append(got, page...), page[len(page)-1]
		}
		if !slices.Equal(got, all) {
			r.Fatalf("Keys with the limit %d returned, one call after the other,\n%q\nwant\n%q", limit, got, all)
		}
	}
	for i, after := range []string{"", "\x01", "default/", "default/a", "default/a\x01", "default/~~", "e", "\U0010ffff"} {
		at, found := slices.BinarySearch(all, after)
		if found {
			at++
		}
		if want, got := all[at:min(at+3, len(all))], c.keys(after, 3); !slices.Equal(got, want) {
			r.Fatalf("%d: Keys after %q, which need not have a row, returned %q, want %q", i, after, got, want)
		}
	}
}

func heldInOrder[T object.Object](r *rig[T]) {
	c := r.open()
	a, b := r.put("default/a", "1", ""), r.put("default/b", "2", "")
	state := c.commit(c.load(), at(1, "10"), []durable.Change[T]{a, b})
	keys := []string{"default/b", "default/none", "default/a", "default/b", "", "default/A", "default/%", "default/b"}
	want := []object.Meta{b.Meta, {}, a.Meta, b.Meta, {}, {}, {}, b.Meta}
	// No object has such a name; but a server can say anything.
	keys, want = append(keys, "default/\x00", "default/\xff"), append(want, object.Meta{}, object.Meta{})
	if got := c.held(keys...); !slices.Equal(got, want) {
		r.Fatalf("Held of %q returned\n%+v\nwant, in the order of the keys, and for each time that a key occurs,\n%+v", keys, got, want)
	}
	c.held()
	c.commit(state, at(1, "11"), []durable.Change[T]{gone[T](durable.Deleted, "default/\x00", "11"), gone[T](durable.Inferred, "default/\xff", "11")})
	c.wantRows(rowsAfter(r, nil, a, b), "after deletions of keys that no row can have")
}

// many writes, looks up and deletes more rows at once than the Mirror does by default.
func many[T object.Object](r *rig[T]) {
	const count = 5000
	c := r.open()
	changes := make([]durable.Change[T], 0, count+count/10)
	for i := range count {
		changes = append(changes, r.put(fmt.Sprintf("default/o-%04d", i), fmt.Sprint(i+1), ""))
	}
	for i := 0; i < count; i += 10 {
		changes = append(changes, r.put(fmt.Sprintf("default/o-%04d", i), fmt.Sprint(count+i), ""))
	}
	rows := rowsAfter(r, nil, changes...)
	state := c.commit(c.load(), at(1, "10"), changes)
	c.wantRows(rows, fmt.Sprintf("after a Write of %d changes", len(changes)))
	deletions := make([]durable.Change[T], 0, count)
	for i := range count - 1 {
		deletions = append(deletions, gone[T](durable.Inferred, fmt.Sprintf("default/o-%04d", i), ""))
	}
	c.commit(state, at(1, "11"), deletions)
	c.wantRows(rowsAfter(r, rows, deletions...), fmt.Sprintf("after a Write of %d deletions", len(deletions)))
}

// began makes a place with two rows, and a transaction that changes, deletes and adds one.
func began[T object.Object](r *rig[T]) (c *opened[T], tx durable.Tx[T], before, after map[string]Row) {
	r.Helper()
	c = r.open()
	first := []durable.Change[T]{r.put("default/a", "1", ""), r.put("default/b", "2", "")}
	before = rowsAfter(r, nil, first...)
	state := c.commit(c.load(), at(1, "10"), first)
	changes := []durable.Change[T]{r.put("default/a", "11", `"data":{"n":"2"}`), gone[T](durable.Deleted, "default/b", "12"), r.put("default/c", "13", "")}
	tx = c.begin(state)
	c.write(tx, changes...)
	return c, tx, before, rowsAfter(r, before, changes...)
}

func readsOwnWrites[T object.Object](r *rig[T]) {
	c, tx, before, after := began(r)
	c.wantSeen(after, "in the transaction that has changed the rows")
	if got := c.held("default/b"); got[0] != (object.Meta{}) {
		r.Fatalf("in the transaction that has deleted the row, Held returned %+v", got[0])
	}
	if got := c.keys("default/a", 1); !slices.Equal(got, []string{"default/c"}) {
		r.Fatalf("in the transaction, Keys after \"default/a\" returned %q, want [\"default/c\"]", got)
	}
	r.wantCommitted(before, "while a transaction is open")
	other := r.open()
	other.wantState(at(1, "10"), "while another Copy has a transaction")
	other.wantSeen(before, "while another Copy has a transaction")
	more := r.put("default/d", "14", "")
	c.write(tx, more)
	r.end(tx, at(1, "14"))
	c.wantRows(rowsAfter(r, after, more), "after Commit")
}

func rollback[T object.Object](r *rig[T]) {
	c, tx, before, _ := began(r)
	r.rollback(tx)
	c.wantRows(before, "after Rollback")
	// The Mirror goes on without Load.
	tx = c.begin(at(1, "10"))
	r.rollback(tx)
	more := r.put("default/d", "14", "")
	c.commit(at(1, "10"), at(1, "14"), []durable.Change[T]{more})
	c.wantState(at(1, "14"), "after a Commit that followed a Rollback")
	c.wantRows(rowsAfter(r, before, more), "after a Commit that followed a Rollback")
}

// goesOn wants that this Copy and another one have the state and the rows of the last commit, and
// that both can commit. before has these rows.
func (o *opened[T]) goesOn(before map[string]Row, when string) {
	o.Helper()
	o.wantState(at(1, "10"), when)
	o.wantRows(before, when)
	other := o.open()
	other.load()
	state := other.commit(at(1, "10"), at(1, "11"))
	other.wantRows(before, when)
	o.load()
	o.commit(state, at(1, "12"), []durable.Change[T]{o.put("default/e", "12", "")})
	o.wantRows(rowsAfter(o.rig, before, o.put("default/e", "12", "")), when+", and after the next Commit")
}

func loadRollsBack[T object.Object](r *rig[T]) {
	c, _, before, _ := began(r)
	c.load()
	c.goesOn(before, "after Load in the middle of a transaction")
	c.begin(at(1, "12")) // and nothing is written
	c.load()
	r.othersGoOn()
}

func killRollsBack[T object.Object](r *rig[T]) {
	c, _, before, _ := began(r)
	c.kill()
	c = r.open()
	c.goesOn(before, "after the end of a process that had a transaction open")
	c.begin(at(1, "12")) // and nothing is written
	c.kill()
	r.othersGoOn()
}

// othersGoOn wants that another Copy can commit after goesOn.
func (r *rig[T]) othersGoOn() {
	r.Helper()
	other := r.open()
	other.load()
	other.commit(at(1, "12"), at(1, "13"))
}

// commitIsAtomic changes all rows again and again, while another program reads them.
func commitIsAtomic[T object.Object](r *rig[T]) {
	const width = 40
	commits := 30
	if testing.Short() {
		commits = 10 // each may be caught
	}
	c := r.open()
	state := c.load()
	stop, done := make(chan struct{}), make(chan error, 1)
	all := make([][width]durable.Change[T], commits)
	for i := range all {
		for j := range all[i] {
			all[i][j] = r.put(fmt.Sprintf("default/o-%02d", j), fmt.Sprint(i+1), "")
		}
	}
	write := func() error {
		for i := range all {
			tx, err := c.Begin(r.Context(), state, false)
			if err != nil {
				return err
			}
			for j := range width {
				if err := tx.Write(r.Context(), all[i][j:j+1]); err != nil {
					return err
				}
			}
			state = at(1, fmt.Sprint(i+1))
			if err := tx.Commit(r.Context(), state); err != nil {
				return err
			}
		}
		return nil
	}
	go func() { defer close(stop); done <- write() }()
	for over := false; !over; {
		select {
		case <-stop:
			over = true
		default:
		}
		rows := r.place.Rows()
		for _, row := range rows {
			if len(rows) != width || row.Meta.ResourceVersion != rows[0].Meta.ResourceVersion {
				r.Errorf("while a transaction that writes %d rows is committed, a reader saw %d rows, one at version %s and one at %s",
					width, len(rows), rows[0].Meta.ResourceVersion, row.Meta.ResourceVersion)
				over = true
				break
			}
		}
	}
	if err := <-done; err != nil {
		r.Fatalf("a transaction, while another program reads: %v", err)
	}
}

func objects[T object.Object](r *rig[T]) {
	c := r.open()
	deep := strings.Repeat(`{"a":[`, 100) + `null` + strings.Repeat(`]}`, 100)
	var changes []durable.Change[T]
	for i, members := range []string{
		``,
		`"data":{}`,
		`"data":null,"extra":[null,true,false,[],{}]`,
		`"data":{"ä":"ü 日本 😀 \u2028 \u2029 \ufeff \uffff"}`,
		`"data":{"escapes":"\" \\ \/ \b \f \n \r \t \u0001 \u001f \u007f \u0080 \ud83d\ude00"}`,
		`"data":{"":"","a.b/c":"x","'":"''","$1":"%s"}`,
		`"data":{"html":"<a href='x'>&amp;</a>"}`,
		`"extra":[0,-0,-1,1.5,1e3,1E-7,9007199254740993,-9223372036854775808,18446744073709551615]`,
		`"extra":[123456789012345678901234567890,0.1234567890123456789012345678901234567890,1.7976931348623157e308,5e-324]`,
		`"extra":` + deep,
		`"kind2":"x","metadata2":{"name":"not me"},"items":[{"metadata":{"name":"nor me"}}]`,
	} {
		changes = append(changes, r.put(fmt.Sprintf("default/o-%d", i), fmt.Sprint(i+1), members))
	}
	c.commit(c.load(), at(1, "20"), changes)
	c.wantRows(rowsAfter(r, nil, changes...), "after Puts of all sorts of JSON")
}

// bigObjects writes objects of 1.5 MB, which is what etcd takes by default.
func bigObjects[T object.Object](r *rig[T]) {
	c := r.open()
	var changes []durable.Change[T]
	for i, text := range []string{"x", "ü", `\"`} {
		data := strings.Repeat(text, 3<<19/len(text))
		changes = append(changes, r.put(fmt.Sprintf("default/o-%d", i), fmt.Sprint(i+1), `"data":{"big":"`+data+`"}`))
	}
	c.commit(c.load(), at(1, "10"), changes)
	c.wantRows(rowsAfter(r, nil, changes...), "after Puts of objects of 1.5 MB")
}
