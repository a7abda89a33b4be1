package postgres

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
)

func TestColumn(t *testing.T) {
	checked, err := prepare(durable.Table{Resource: pods, Columns: []string{"x=.it's[0]"}})
	must.OK(t, err)
	if got, want := checked.columns[0].sql("object"), `left(object #>> ARRAY['it''s', '0'], 500)`; got != want {
		t.Errorf("sql() = %s, want %s", got, want)
	}
}

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func TestTable(t *testing.T) {
	for _, bad := range []durable.Table{
		{},
		{Resource: pods, Name: "pg_x"},
		{Resource: pods, Name: strings.Repeat("a", 41)},
		{Resource: pods, Cluster: "\x00"},
		{Resource: pods, Cluster: strings.Repeat("a", 254)},
		{Resource: pods, Columns: []string{"xmin=.a"}},
	} {
		if c, err := New(&DB{copies: map[closer]durable.Table{}}, bad, func(b []byte) ([]byte, error) { return b, nil }); err == nil {
			t.Errorf("New(%+v) = %v, want an error", bad, c)
		}
	}
}

func TestOtherColumns(t *testing.T) {
	db := &DB{copies: map[closer]durable.Table{}}
	open := func(cluster, name string, columns ...string) error {
		_, err := New(db, durable.Table{Resource: pods, Cluster: cluster, Name: name, Columns: columns}, func(b []byte) ([]byte, error) { return b, nil })
		return err
	}
	must.OK(t, errors.Join(open("east", "", "x=.a"), open("west", "", "x=.a"), open("west", "other", "y=.a")))
	if err := open("north", "", "x=.b"); err == nil || !strings.Contains(err.Error(), "has other columns") {
		t.Errorf("a Copy with other columns: %v", err)
	}
}

// TestURL has passwords that contain what a URL does not take. No error has any part of them.
func TestURL(t *testing.T) {
	for _, url := range []string{
		"postgres://user:secr%zzet@localhost/db",
		"postgres://user:12/secret@localhost/db",
		"postgres://user:12?secret@localhost/db",
		"postgres://user:12#secret@localhost/db",
		"postgres://user:secret@localhost:port/db",
		"postgres://user:secret@localhost/db?sslmode=secret",
		"postgres://user:sec ret@local host/db",
		"postgres://user:secret@localhost:1:2/db",
		"postgres//user:secret@localhost/db",
		"host=localhost password=secret port=secret",
		"host=localhost password='secret",
		"user:secret@localhost/db",
	} {
		_, err := Open(t.Context(), url, Options{})
		if err == nil {
			t.Errorf("Open(%s): no error", url)
			continue
		}
		for _, part := range []string{"secr", "ret", "12"} {
			if strings.Contains(strings.ReplaceAll(err.Error(), "postgres://user:password@host:5432", ""), part) {
				t.Errorf("Open(%s): %v", url, err)
			}
		}
	}
	if _, err := Open(t.Context(), "postgres://localhost/db", Options{Schema: "a b"}); err == nil || !strings.Contains(err.Error(), `Options.Schema "a b"`) {
		t.Errorf("a schema with a space: %v", err)
	}
}
