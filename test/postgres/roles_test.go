package check

import (
	"net/url"
	"testing"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/internal/must"
)

// A role can have settings of its own, and a URL others. They do not change what is stored.
func TestSettingsOfTheRole(t *testing.T) {
	r := newRig(t)
	role := "odd_" + r.schema
	exec1(t, r.admin, `CREATE ROLE `+role+` LOGIN SUPERUSER`)
	for _, setting := range []string{
		"client_encoding = 'LATIN1'", "standard_conforming_strings = off", "search_path = public", "default_transaction_isolation = serializable",
		"statement_timeout = '1h'", "DateStyle = 'German'", "IntervalStyle = 'sql_standard'", "bytea_output = 'escape'", "TimeZone = 'Asia/Kathmandu'",
	} {
		exec1(t, r.admin, `ALTER ROLE `+role+` SET `+setting)
	}
	table := pods
	table.Columns = []string{`it=.spec["a\b'é"]`}
	db, err := postgres.Open(t.Context(), r.s.URL(role, url.Values{"client_encoding": {"WIN1252"}}), r.opts)
	must.OK(t, err)
	c := r.copy(db, table)
	state := load(t, c)
	write(t, c, state, "10", put("a/x", 1, 1, `"spec":{"a\\b'é":"żółć €"}`))
	got := query(t, r.admin, `SELECT it, object #>> '{spec,"a\\b''é"}' FROM `+r.schema+`.pods`)
	if got != "żółć € żółć €" {
		t.Errorf("the row has %q", got)
	}
}

// A role can have limits of time, for those who write queries. A copy waits longer than these, for
// another writer and in the transaction of a list, and its session may be idle for longer.
func TestTimeoutsOfTheRole(t *testing.T) {
	r := newRig(t)
	role := "hasty_" + r.schema
	exec1(t, r.admin, `CREATE ROLE `+role+` LOGIN SUPERUSER`)
	timeouts := []string{"statement_timeout", "lock_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout"}
	if query(t, r.admin, `SELECT count(*) FROM pg_settings WHERE name = 'transaction_timeout'`) == "1" { // since PostgreSQL 17
		timeouts = append(timeouts, "transaction_timeout")
	}
	for _, timeout := range timeouts {
		exec1(t, r.admin, `ALTER ROLE `+role+` SET `+timeout+` = '100ms'`)
	}
	open := func(more url.Values) (*postgres.Copy[[]byte], durable.State) {
		db, err := postgres.Open(t.Context(), r.s.URL(role, more), r.opts)
		must.OK(t, err)
		c := r.copy(db, pods)
		return c, load(t, c)
	}
	c, state := open(nil)
	state = transact(t, c, state, opened(state), false)
	tx, err := c.Begin(t.Context(), state, true)
	must.OK(t, err)
	idle := func(what, where string) {
		t.Helper()
		eventually(t, what, func() bool {
			return query(t, r.admin, `SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND state_change < clock_timestamp() - interval '300ms' AND `+where, role) == "1"
		})
	}
	idle("the transaction of a list waits for the server", `state = 'idle in transaction'`)
	if err := tx.Write(t.Context(), []durable.Change[[]byte]{put("a", 1, 1)}); err != nil {
		t.Fatalf("a list that takes longer than the timeouts: %v", err)
	}

	other, theirs := open(nil)
	begun := make(chan error, 1)
	go func() {
		_, err := other.Begin(t.Context(), theirs, false)
		begun <- err
	}()
	idle("a second writer waits for the first", `wait_event_type = 'Lock'`)
	must.OK(t, tx.Rollback())
	if err := <-begun; err != nil {
		t.Errorf("the second writer: %v", err)
	}
	idle("the first writer is idle", `state = 'idle'`)
	if _, err := c.Held(t.Context(), []string{"a"}); err != nil {
		t.Errorf("after the session was idle: %v", err)
	}

	// A URL has the last word.
	c, state = open(url.Values{"lock_timeout": {"10ms"}})
	if _, err := c.Begin(t.Context(), state, false); err == nil {
		t.Error("Begin with a lock_timeout in the URL, while another has the lock: no error")
	}
}
