package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/durable"
)

var withHistory = durable.Table{Columns: []string{"node=.spec.nodeName"}, History: 24 * time.Hour}

// day is when a bubble of synctest begins.
const day = "2000-01-01T"

// short drops the date and the seconds of times.
func short(rows []string) []string {
	for i, r := range rows {
		rows[i] = strings.ReplaceAll(strings.ReplaceAll(r, day, ""), ":00.000Z", "")
	}
	return rows
}

const states = "SELECT key, uid, resource_version, node, from_time, to_version, to_time, ended FROM pods_history ORDER BY key, rowid"

const gaps = "SELECT kind, from_version, from_time, to_version, to_time FROM relist_gaps ORDER BY rowid"

func (r *rig) want(what, query string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), short(r.query(query))); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withHistory)
		minutes := func(n int) { <-time.After(time.Duration(n) * time.Minute) }

		r.commit(true, "10", put("a/kept", "u1", "1", "n1"), put("a/moved", "u2", "2", "n1"), put("a/gone", "u3", "3", "n1"))
		minutes(5)
		r.commit(false, "12", put("a/moved", "u2", "11", "n2"), gone(durable.Deleted, "a/gone", "u3", "12"))
		minutes(5)
		r.commit(false, "13") // a bookmark
		minutes(5)
		// A list: what it brings has happened at some time since version 13.
		r.commit(true, "20", put("a/kept", "u1", "1", "n1"), put("a/moved", "u2", "15", "n3"), put("a/new", "u4", "14", "n1"))
		minutes(5)
		// The name of an object that nobody saw go, twice in one transaction.
		r.commit(false, "23", put("a/new", "u5", "21", "n1"), put("a/new", "u5", "22", "n2"), gone(durable.Inferred, "a/kept", "u1", "1"))

		r.want("states", states,
			"a/gone|u3|3|n1|00:00|12|00:05|deleted",
			"a/kept|u1|1|n1|00:00|NULL|00:20|inferred",
			"a/moved|u2|2|n1|00:00|11|00:05|put",
			"a/moved|u2|11|n2|00:05|NULL|00:15|put",
			"a/moved|u2|15|n3|00:15|NULL|NULL|NULL",
			"a/new|u4|14|n1|00:15|NULL|00:20|inferred",
			"a/new|u5|21|n1|00:20|22|00:20|put",
			"a/new|u5|22|n2|00:20|NULL|NULL|NULL")
		r.want("gaps", gaps, "list|||10|00:00", "list|13|00:10|20|00:15")
		r.want("what was on n1 at 00:07", `SELECT key FROM pods_history
			WHERE node = 'n1' AND from_time <= '2000-01-01T00:07:00.000Z' AND (to_time IS NULL OR to_time > '2000-01-01T00:07:00.000Z')`,
			"a/kept")

		// Another form of the same version is no other state.
		again := put("a/moved", "u2", "15", "n4")
		r.commit(false, "24", again)
		r.want("the state in its new form", states+" LIMIT 1 OFFSET 4", "a/moved|u2|15|n4|00:15|NULL|NULL|NULL")
	})
}

// A list in several transactions is one gap, also if the program is restarted in the middle of it.
func TestHistoryOfALongList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withHistory)
		r.commit(true, "10", put("a/b", "u1", "1", "n1"))
		<-time.After(time.Minute)
		r.commit(true, "", put("a/b", "u1", "11", "n2"))
		r.want("gaps", gaps, "list|||10|00:00", "list|10|00:00|NULL|NULL")
		r.db.Close()
		<-time.After(time.Minute)
		r.open(withHistory)
		r.commit(false, "")
		r.commit(true, "", put("a/c", "u2", "12", "n2"))
		<-time.After(time.Minute)
		r.commit(true, "20", gone(durable.Unselected, "a/b", "u1", "11"))
		r.want("gaps", gaps, "list|||10|00:00", "list|10|00:00|20|00:03")
		r.want("states", states, "a/b|u1|1|n1|00:00|NULL|00:01|put", "a/b|u1|11|n2|00:01|NULL|00:03|unselected", "a/c|u2|12|n2|00:02|NULL|NULL|NULL")
		r.db.Close()
	})
}

// A list may be at the version that the copy has, and still end states: of an object that could not
// be read before, or of another history, after a backup was restored.
func TestHistoryOfAListAtTheSameVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withHistory)
		r.commit(true, "10", put("a/b", "u1", "1", "n1"))
		<-time.After(time.Minute)
		r.commit(true, "10")
		r.want("gaps of a list that brings nothing", gaps, "list|||10|00:00")
		<-time.After(time.Minute)
		r.commit(true, "10", put("a/b", "u1", "9", "n2"))
		r.want("gaps", gaps, "list|||10|00:00", "list|10|00:00|10|00:02")
		r.want("states", states, "a/b|u1|1|n1|00:00|NULL|00:02|put", "a/b|u1|9|n2|00:02|NULL|NULL|NULL")
		r.db.Close()
	})
}

// A program that was away and continues with events knows every state, but not when it began.
func TestHistoryOfAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withHistory)
		r.commit(true, "10", put("a/b", "u1", "1", "n1"))
		r.db.Close()
		<-time.After(time.Hour)
		r.open(withHistory)
		r.commit(false, "10") // the epoch
		r.commit(false, "11", put("a/b", "u1", "11", "n2"))
		r.commit(false, "12", put("a/b", "u1", "12", "n3"))
		r.want("gaps", gaps, "list|||10|00:00", "pause|10|00:00|11|01:00")
		r.want("states", states, "a/b|u1|1|n1|00:00|11|01:00|put", "a/b|u1|11|n2|01:00|12|01:00|put", "a/b|u1|12|n3|01:00|NULL|NULL|NULL")
		r.db.Close()
	})
}

// Transactions without a history leave a gap, and the history continues with the rows as they are.
func TestHistoryOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := durable.Table{Columns: withHistory.Columns}
		reopen := func(r *rig, table durable.Table) {
			r.db.Close()
			<-time.After(time.Minute)
			r.open(table)
		}
		r := newRig(t, off)
		r.commit(true, "10", put("a/b", "u1", "1", "n1"))
		reopen(r, withHistory)
		r.commit(false, "10")
		r.want("states", states, "a/b|u1|1|n1|00:01|NULL|NULL|NULL")
		r.want("gaps", gaps, "off|||10|00:01")
		reopen(r, off)
		r.commit(false, "12", gone(durable.Deleted, "a/b", "u1", "11"), put("a/c", "u2", "12", "n2"))
		r.want("gaps while it is off", gaps, "off|||10|00:01", "off|10|00:00|NULL|NULL")
		reopen(r, withHistory)
		r.commit(false, "12")
		r.want("states", states, "a/b|u1|1|n1|00:01|NULL|00:03|unrecorded", "a/c|u2|12|n2|00:03|NULL|NULL|NULL")
		r.want("gaps", gaps, "off|||10|00:01", "off|10|00:00|12|00:03")
		r.commit(false, "13")
		r.want("gaps", gaps, "off|||10|00:01", "off|10|00:00|12|00:03", "pause|12|00:02|13|00:03")
		r.db.Close()
	})
}

// The gap is also there if the history goes off while its first list is not whole.
func TestHistoryOffInAFirstList(t *testing.T) {
	r := newRig(t, withHistory)
	r.commit(true, "", put("a/b", "u1", "1", "n1"))
	r.db.Close()
	r.open(durable.Table{Columns: withHistory.Columns})
	r.commit(true, "10", gone(durable.Inferred, "a/b", "u1", "1"))
	r.want("gaps", "SELECT kind, from_version, to_version FROM relist_gaps", "off||NULL")
	r.db.Close()
}

// Former states go when they are older than the retention, 1,000 in each commit at most; present
// ones stay.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withHistory)
		r.commit(true, "10", put("a/kept", "u0", "1", "n1"))
		var changes []durable.Change[text]
		for range 1100 {
			changes = append(changes, put("a/b", "u1", "11", "n1"), gone(durable.Deleted, "a/b", "u1", "12"))
		}
		r.commit(false, "12", changes...)
		<-time.After(24 * time.Hour)
		r.commit(false, "13")
		count := "SELECT count(*) FROM pods_history"
		r.want("after 24 hours", count, "1101")
		<-time.After(time.Millisecond)
		r.commit(false, "14")
		r.want("after the retention", count, "101")
		r.commit(false, "15")
		r.want("one commit later", count, "1")
		r.want("gaps", "SELECT count(*) FROM relist_gaps", "0")
		r.db.Close()
	})
}

// Transactions that end more states than a commit removes otherwise do not make the history grow.
func TestRetentionOfLargeTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withHistory)
		var changes []durable.Change[text]
		for range 1200 {
			changes = append(changes, put("a/b", "u1", "11", "n1"), gone(durable.Deleted, "a/b", "u1", "12"))
		}
		for round := range 3 {
			r.commit(false, fmt.Sprint(12+round), changes...)
			r.want("states", "SELECT count(*) FROM pods_history", "1200")
			<-time.After(25 * time.Hour)
		}
		r.db.Close()
	})
}

// The clock was a year ahead for a while. When it is right again, states still follow each other,
// have times of their own, and are pruned.
func TestHistoryWithAClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withHistory)
		r.commit(true, "10", put("a/b", "u1", "1", "n1"))
		r.commit(false, "11", put("a/b", "u1", "11", "n2"))
		r.other("UPDATE relist_state SET current_at = '2001-01-01T00:00:00.000Z', committed = '2001-01-01T05:00:00.000Z', recorded_at = '2001-01-01T00:00:00.000Z'",
			"UPDATE pods_history SET from_time = '2001-01-01T03:00:00.000Z'", "UPDATE pods_history SET to_time = '2001-01-01T04:00:00.000Z' WHERE to_time IS NOT NULL",
			"UPDATE relist_gaps SET to_time = '2001-01-01T02:00:00.000Z'")
		<-time.After(time.Minute)
		r.commit(false, "12", put("a/b", "u1", "12", "n3"))
		<-time.After(time.Minute)
		r.commit(false, "13", gone(durable.Deleted, "a/b", "u1", "13"))
		r.want("states that end before they begin", "SELECT key FROM pods_history WHERE to_time < from_time")
		r.want("states", states, "a/b|u1|1|n1|00:01|11|00:01|put", "a/b|u1|11|n2|00:01|12|00:01|put", "a/b|u1|12|n3|00:01|13|00:02|deleted")
		r.want("gaps", gaps, "list|||10|00:01")
		r.want("the state", "SELECT current_at, committed, recorded_at FROM relist_state", "00:02|00:02|00:02")
		<-time.After(25 * time.Hour)
		r.commit(false, "14")
		r.want("states after the retention", states)
		r.db.Close()
	})
}
