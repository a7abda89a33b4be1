package check

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
)

// recorded is the table with a history.
var recorded = func() durable.Table {
	table := pods
	table.History = time.Hour
	return table
}()

// record returns a copy with a history, and its state.
func (r *rig) record() (*postgres.Copy[[]byte], durable.State) {
	r.t.Helper()
	c := r.copy(r.open(), recorded)
	return c, load(r.t, c)
}

// sql fails the test unless a query has these rows. In the query, $ stands before the name of a
// table.
func (r *rig) sql(what, statement, want string) {
	r.t.Helper()
	is(r.t, what, query(r.t, r.admin, strings.ReplaceAll(statement, "$", r.schema+".")), want)
}

// states are what the history has, in order, without times.
func (r *rig) states() string {
	r.t.Helper()
	return query(r.t, r.admin, `SELECT key, uid, resource_version, coalesce(to_version, '-'), coalesce(ended, '-'), coalesce(object->>'x', '-')
		FROM `+r.schema+`.pods_history ORDER BY key, from_time, to_time, resource_version`)
}

func (r *rig) gaps() string {
	r.t.Helper()
	return query(r.t, r.admin, `SELECT kind, '"'||from_version||'"', coalesce('"'||to_version||'"', '-'), from_time IS NULL, to_time IS NULL
		FROM `+r.schema+`.relist_gaps ORDER BY ctid`)
}

func is(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestHistory(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	state = transact(t, c, state, opened(state), false)

	// The first list comes in two transactions.
	state = transact(t, c, state, state, true, put("a", 1, 1), put("b", 1, 1), put("c", 1, 1), put("d", 1, 1), put("e", 1, 1))
	state = transact(t, c, state, at(state, "10"), true, put("f", 1, 9))
	is(t, "gaps after the first list", r.gaps(), `list "" "10" true false`)

	// Events: two changes of one key at once, a form, another object of a name, a deletion of what
	// is not there.
	state = write(t, c, state, "20", put("a", 1, 11), put("a", 1, 12), gone(durable.Deleted, "x"),
		put("b", 1, 1, `"x":"form"`), put("c", 2, 13), durable.Change[[]byte]{Meta: meta("d", 1, 14), Op: durable.Deleted}, put("g", 1, 15), put("g", 1, 15))
	is(t, "states after events", r.states(), `a u1 1 11 put -
a u1 11 12 put -
a u1 12 - - -
b u1 1 - - form
c u1 1 - inferred -
c u2 13 - - -
d u1 1 14 deleted -
e u1 1 - - -
f u1 9 - - -
g u1 15 - - -`)
	is(t, "gaps after events", r.gaps(), `list "" "10" true false`)

	// A list, a pause, and the end of what was selected.
	transact(t, c, state, at(state, "30"), true, put("a", 1, 25), durable.Change[[]byte]{Meta: meta("e", 1, 1), Op: durable.Inferred},
		durable.Change[[]byte]{Meta: meta("f", 1, 9), Op: durable.Unselected})
	state = load(t, c)
	state = transact(t, c, state, opened(state), false)
	state = write(t, c, state, "40", put("a", 1, 35))
	state = write(t, c, state, "41")
	r.sql("states of a", `SELECT resource_version, to_version, ended FROM $pods_history WHERE key = 'a' ORDER BY resource_version::int`,
		"1 11 put\n11 12 put\n12 <nil> put\n25 35 put\n35 <nil> <nil>")
	r.sql("states that ended with the list", `SELECT key, to_version, ended FROM $pods_history WHERE key IN ('e', 'f') ORDER BY key`,
		"e <nil> inferred\nf <nil> unselected")
	is(t, "gaps", r.gaps(), "list \"\" \"10\" true false\nlist \"20\" \"30\" false false\npause \"30\" \"40\" false false")

	// What was there at the time of each commit is found again.
	r.sql("keys at the end of the list", `SELECT string_agg(key, ' ' ORDER BY key) FROM $pods_history h,
		(SELECT to_time AS t FROM $relist_gaps WHERE to_version = '10') g WHERE from_time <= t AND (to_time > t OR to_time IS NULL)`, "a b c d e f")

	// Without a history for a while.
	plain := r.copy(r.open(), pods)
	state = transact(t, plain, load(t, plain), opened(state), false)
	const offGap = "list \"\" \"10\" true false\nlist \"20\" \"30\" false false\npause \"30\" \"40\" false false\noff \"41\" - false true"
	is(t, "gaps at the beginning of a time without a history", r.gaps(), offGap)
	state = write(t, plain, state, "50", put("a", 1, 45), gone(durable.Deleted, "b"), put("h", 1, 46))
	is(t, "gaps in a time without a history", r.gaps(), offGap)
	c = r.copy(r.open(), recorded)
	state = transact(t, c, load(t, c), opened(state), false)
	is(t, "gaps after a time without a history", r.gaps(), "list \"\" \"10\" true false\nlist \"20\" \"30\" false false\npause \"30\" \"40\" false false\noff \"41\" \"50\" false false")
	r.sql("present states", `SELECT key, resource_version FROM $pods_history WHERE to_time IS NULL ORDER BY key`,
		query(t, r.admin, `SELECT key, resource_version FROM `+r.schema+`.pods ORDER BY key`))
	r.sql("states that ended unseen", `SELECT key, resource_version FROM $pods_history WHERE ended = 'unrecorded' ORDER BY key`, "a 35\nb 1")

	// The selectors change: the version is empty until the list ends.
	state = transact(t, c, state, at(opened(state), ""), false)
	state = transact(t, c, state, at(state, ""), true, put("i", 1, 55))
	transact(t, c, state, at(state, "60"), true)
	if got, want := query(t, r.admin, `SELECT kind, from_version, to_version FROM `+r.schema+`.relist_gaps ORDER BY ctid DESC LIMIT 1`), "list 50 60"; got != want {
		t.Errorf("the last gap is %s, want %s", got, want)
	}

	// A list at the version that the copy has: of an object that could not be read before, or of
	// another history.
	state = load(t, c)
	count := func() string { return query(t, r.admin, `SELECT count(*) FROM `+r.schema+`.relist_gaps`) }
	before := count()
	state = transact(t, c, state, at(state, "60"), true)
	is(t, "gaps after a list that brings nothing", count(), before)
	transact(t, c, state, at(state, "60"), true, put("i", 1, 56))
	if got, want := query(t, r.admin, `SELECT kind, from_version, to_version FROM `+r.schema+`.relist_gaps ORDER BY ctid DESC LIMIT 1`), "list 60 60"; got != want {
		t.Errorf("the last gap is %s, want %s", got, want)
	}
}

// If somebody drops a table, everything is listed, and the history ends what it has as present. If
// somebody drops the history, it begins again with the rows.
func TestDroppedTable(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	write(t, c, state, "10", put("a", 1, 1), put("b", 2, 2))
	exec1(t, r.admin, `DROP TABLE `+r.schema+`.pods`)
	c = r.copy(r.open(), recorded)
	if state = load(t, c); state.Point.Version != "" {
		t.Errorf("the copy is at version %s, and has no rows", state.Point.Version)
	}
	state = transact(t, c, state, at(state, "20"), true, put("a", 1, 1))
	r.sql("states", `SELECT key, ended FROM $pods_history ORDER BY key, ended`, "a unrecorded\na <nil>\nb unrecorded")
	exec1(t, r.admin, `DROP TABLE `+r.schema+`.pods_history`)
	c = r.copy(r.open(), recorded)
	load(t, c)
	transact(t, c, state, state, false)
	r.sql("states", `SELECT key, ended FROM $pods_history`, "a <nil>")
	r.sql("the last gap", `SELECT kind, from_time, to_version FROM $relist_gaps ORDER BY ctid DESC LIMIT 1`, "off <nil> 20")
}

// Somebody drops relist_state while the history is off. The history goes on with the rows as they
// are.
func TestDroppedStateOfACopyWithoutHistory(t *testing.T) {
	r := newRig(t)
	c := r.copy(r.open(), recorded)
	state := write(t, c, load(t, c), "10", put("a", 1, 1), put("b", 2, 2))
	plain := r.copy(r.open(), pods)
	load(t, plain)
	write(t, plain, state, "12", put("a", 1, 11), gone(durable.Deleted, "b"))
	exec1(t, r.admin, `DROP TABLE `+r.schema+`.relist_state`)
	c, state = r.record()
	transact(t, c, state, at(state, "20"), true, put("a", 1, 11))
	r.sql("states", `SELECT key, resource_version, ended FROM $pods_history ORDER BY key, resource_version`, "a 1 unrecorded\na 11 <nil>\nb 2 unrecorded")
}

// Somebody drops a table of two clusters while programs write to it. The next Load makes it again,
// and no copy has a version.
func TestTableDroppedBesideWriters(t *testing.T) {
	r := newRig(t)
	db, east, west := r.open(), pods, pods
	east.Cluster, west.Cluster = "east", "west"
	inEast, inWest := r.copy(db, east), r.copy(db, west)
	write(t, inEast, load(t, inEast), "10", put("a", 1, 1))
	state := write(t, inWest, load(t, inWest), "20", put("b", 1, 1))
	exec1(t, r.admin, `DROP TABLE `+r.schema+`.pods`)
	if _, err := inEast.Held(t.Context(), []string{"a"}); err == nil {
		t.Error("Held without a table: no error")
	}
	if got := load(t, inEast); got.Point.Version != "" {
		t.Errorf("the copy of east is at version %s, and has no rows", got.Point.Version)
	}
	write(t, inEast, load(t, inEast), "11", put("a", 1, 1))
	if _, err := inWest.Begin(t.Context(), state, false); !errors.Is(err, durable.ErrFenced) {
		t.Errorf("Begin at a version that was taken away: %v", err)
	}
	state = load(t, inWest)
	if state.Point.Version != "" {
		t.Errorf("the copy of west is at version %s, and has no rows", state.Point.Version)
	}
	write(t, inWest, state, "21", put("b", 1, 1))
	r.sql("rows", `SELECT cluster, key FROM $pods ORDER BY cluster`, "east a\nwest b")
}

func TestRetention(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	state = transact(t, c, state, at(opened(state), "1"), true, put("a", 1, 1), put("b", 1, 1))
	write(t, c, state, "2", put("a", 1, 2), gone(durable.Deleted, "b"))
	exec1(t, r.admin, `UPDATE `+r.schema+`.pods_history SET from_time = from_time - interval '2 hours', to_time = to_time - interval '2 hours' WHERE key = 'a'`)
	exec1(t, r.admin, `UPDATE `+r.schema+`.relist_gaps SET to_time = to_time - interval '2 hours'`)
	c = r.copy(r.open(), recorded) // a Copy looks at its first commit, and then once a minute
	write(t, c, load(t, c), "3")
	is(t, "states", r.states(), "a u1 2 - - -\nb u1 1  deleted -")
	r.sql("gaps", `SELECT kind FROM $relist_gaps`, "pause")
}

// TestHistoryOffWhileListing turns the history off while a list is open, and on after its end.
func TestHistoryOffWhileListing(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	state = transact(t, c, state, at(opened(state), "10"), true, put("a", 1, 1))
	state = transact(t, c, state, at(state, ""), true, put("a", 1, 11)) // a list that has more transactions
	is(t, "gaps while a list is open", r.gaps(), "list \"\" \"10\" true false\nlist \"10\" - false true")

	plain := r.copy(r.open(), pods)
	state = transact(t, plain, load(t, plain), at(opened(state), "20"), true, put("b", 1, 19))

	c = r.copy(r.open(), recorded)
	transact(t, c, load(t, c), opened(state), false)
	is(t, "gaps after it", r.gaps(), "list \"\" \"10\" true false\nlist \"10\" \"20\" false false\noff \"\" \"20\" false false")
}

// The clock was a year ahead for a while, and is right again.
func TestClockSetBack(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	state = transact(t, c, state, at(opened(state), "1"), true, put("a", 1, 1), put("b", 1, 1), put("c", 1, 1))
	state = write(t, c, state, "2", put("a", 1, 2))
	exec1(t, r.admin, strings.NewReplacer("$", r.schema+".").Replace(`
		UPDATE $pods_history SET to_time = to_time + interval '1 year' WHERE to_time IS NOT NULL;
		UPDATE $pods_history SET from_time = from_time + interval '1 year' WHERE to_time IS NULL AND key <> 'c';
		UPDATE $relist_gaps SET to_time = to_time + interval '1 year';
		UPDATE $relist_state SET committed = committed + interval '1 year', current_at = current_at + interval '1 year'`))
	state = write(t, c, state, "3", put("b", 1, 3))
	write(t, c, state, "4", put("b", 1, 4))
	r.sql("times to come", `
		SELECT 'state', key FROM $pods_history WHERE greatest(from_time, to_time) > clock_timestamp()
		UNION ALL SELECT 'gap', kind FROM $relist_gaps WHERE greatest(from_time, to_time) > clock_timestamp()
		UNION ALL SELECT 'copy', version FROM $relist_state WHERE greatest(committed, current_at, recorded_at) > clock_timestamp()`, "")
	r.sql("times of b's states", `SELECT count(DISTINCT from_time), bool_and(from_time <= coalesce(to_time, from_time)) FROM $pods_history WHERE key = 'b' AND resource_version <> '1'`, "2 true")
	r.sql("present states", `SELECT key, resource_version FROM $pods_history WHERE to_time IS NULL ORDER BY key`, "a 2\nb 4\nc 1")

	is(t, "gaps", r.gaps(), "list \"\" \"1\" true false")

	// What has ended goes an hour later.
	exec1(t, r.admin, `UPDATE `+r.schema+`.pods_history SET from_time = from_time - interval '61 minutes', to_time = to_time - interval '61 minutes'`)
	c = r.copy(r.open(), recorded)
	write(t, c, load(t, c), "5")
	r.sql("states", `SELECT key, resource_version FROM $pods_history ORDER BY key`, "a 2\nb 4\nc 1")
}

// TestRetentionOfMany has more old states than one commit removes.
func TestRetentionOfMany(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	transact(t, c, state, at(opened(state), "1"), true)
	exec1(t, r.admin, `INSERT INTO `+r.schema+`.pods_history (cluster, key, uid, resource_version, object, from_time, to_time, ended)
		SELECT '', 'old' || n, 'u', '1', '{}', now() - interval '3 hours', now() - interval '2 hours', 'put' FROM generate_series(1, 12000) n`)
	c, state = r.record()
	for _, want := range []string{"7000", "2000", "0"} {
		state = write(t, c, state, state.Point.Version+"1")
		r.sql("old states", `SELECT count(*) FROM $pods_history`, want)
	}
}

// TestRetentionOfLargeTransactions has a transaction that ends more states than a commit removes
// otherwise.
func TestRetentionOfLargeTransactions(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	state = transact(t, c, state, at(opened(state), "1"), true)
	var changes []durable.Change[[]byte]
	for i := range 3000 {
		key := strconv.Itoa(i)
		changes = append(changes, put(key, 1, 2), gone(durable.Deleted, key))
	}
	state = write(t, c, state, "2", changes...)
	write(t, c, state, "3", changes...)
	r.sql("former states", `SELECT count(*) FROM $pods_history`, "6000")
	exec1(t, r.admin, `UPDATE `+r.schema+`.pods_history SET to_time = to_time - interval '2 hours'`)
	c = r.copy(r.open(), recorded)
	write(t, c, load(t, c), "4", changes...)
	r.sql("states of one commit", `SELECT count(*) FROM $pods_history`, "3000")
}

// TestHistoryWithoutUID has an object whose server sets a UID from its second version on.
func TestHistoryWithoutUID(t *testing.T) {
	r := newRig(t)
	c, state := r.record()
	none := put("a", 1, 1)
	none.Meta.UID = ""
	state = transact(t, c, state, at(opened(state), "1"), true, none)
	write(t, c, state, "2", put("a", 1, 2))
	is(t, "states", r.states(), "a  1 2 put -\na u1 2 - - -")
}
