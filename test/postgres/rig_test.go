package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jackc/pgx/v5"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/internal/pgserver"
)

// rig is a schema of its own, and a connection to look at it.
type rig struct {
	t      testing.TB
	s      *pgserver.Server
	schema string
	admin  *pgx.Conn
	opts   postgres.Options
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, s: shared, schema: newSchema(t), admin: admin(t, shared)}
	r.opts.Schema = r.schema
	return r
}

func (r *rig) open() *postgres.DB {
	r.t.Helper()
	db, err := postgres.Open(r.t.Context(), r.s.URL("postgres", nil), r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return db
}

// pods is the table of most tests.
var pods = durable.Table{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}

func asIs(object []byte) ([]byte, error) { return object, nil }

func (r *rig) copy(db *postgres.DB, table durable.Table) *postgres.Copy[[]byte] {
	r.t.Helper()
	c, err := postgres.New(db, table, asIs)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// new opens the schema, and returns a copy and its state.
func (r *rig) new() (*postgres.Copy[[]byte], durable.State) {
	r.t.Helper()
	c := r.copy(r.open(), pods)
	return c, load(r.t, c)
}

func load(t testing.TB, c *postgres.Copy[[]byte]) durable.State {
	t.Helper()
	state, err := c.Load(t.Context())
	must.OK(t, err)
	return state
}

// at returns the state with another version.
func at(state durable.State, version string) durable.State {
	state.Point = reflector.Point{Version: version}
	return state
}

// write makes a transaction, and returns the state after it.
func write(t testing.TB, c *postgres.Copy[[]byte], state durable.State, version string, changes ...durable.Change[[]byte]) durable.State {
	t.Helper()
	return transact(t, c, state, at(state, version), false, changes...)
}

func transact(t testing.TB, c *postgres.Copy[[]byte], state, next durable.State, list bool, changes ...durable.Change[[]byte]) durable.State {
	t.Helper()
	tx, err := c.Begin(t.Context(), state, list)
	must.OK(t, err)
	must.OK(t, tx.Write(t.Context(), changes))
	must.OK(t, tx.Commit(t.Context(), next))
	return next
}

func put(key string, uid, version int, members ...string) durable.Change[[]byte] {
	object := fmt.Sprintf(`{"metadata":{"uid":"u%d","resourceVersion":"%d"}%s}`, uid, version, strings.Join(append([]string{""}, members...), ","))
	return durable.Change[[]byte]{Meta: meta(key, uid, version), Object: []byte(object), Op: durable.Put}
}

func meta(key string, uid, version int) object.Meta {
	return object.Meta{Key: key, UID: types.UID(fmt.Sprintf("u%d", uid)), ResourceVersion: fmt.Sprint(version)}
}

func gone(how durable.Op, key string) durable.Change[[]byte] {
	return durable.Change[[]byte]{Meta: object.Meta{Key: key}, Op: how}
}

// rows are what the table has: key, uid and version, in order of keys.
func (r *rig) rows() string {
	r.t.Helper()
	return query(r.t, r.admin, `SELECT key, uid, resource_version FROM `+r.schema+`.pods ORDER BY key`)
}

// version is what readers see in relist_state.
func (r *rig) version() string {
	r.t.Helper()
	return query(r.t, r.admin, `SELECT version FROM `+r.schema+`.relist_state WHERE table_name = 'pods'`)
}

func (r *rig) want(rows ...string) {
	r.t.Helper()
	if got := r.rows(); got != strings.Join(rows, "\n") {
		r.t.Errorf("rows:\n%s\nwant:\n%s", got, strings.Join(rows, "\n"))
	}
}

// eventually waits until f is true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("within a minute, not: %s", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func equal[E comparable](t testing.TB, what string, got, want []E) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must.OK(t, err)
	return string(data)
}
