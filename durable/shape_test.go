package durable_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
)

// If a row is made in another way, every row is written again.
func TestAnotherShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		r.create("a", "db", nil)
		_ = r.run(listwatch.Options[*thing]{}, nil, nil)
		r.commits = nil
		_ = r.run(listwatch.Options[*thing]{Drop: []string{"metadata.managedFields"}}, nil, nil)
		if put := r.told(durable.Put); put != "a/db a/web" {
			t.Errorf("written: %s, want all rows", put)
		}
		if r.told(durable.Unselected)+r.told(durable.Inferred) != "" {
			t.Error("rows were deleted")
		}
	})
}

// The row of an object that cannot be decoded is made in the old way. It stays unsure until the
// object can be decoded, and is then made in the new way, although it is of the same version.
func TestAnotherShapeOfAnUnsureKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, name := range []string{"db", "gone", "secret", "web"} {
			r.create("a", name, nil)
		}
		_ = r.run(listwatch.Options[*thing]{}, nil, nil)
		gone := r.place.rows["a/gone"].meta
		r.commits = nil
		var decodes atomic.Bool
		opts := listwatch.Options[*thing]{
			Drop: []string{"data"},
			Transform: func(o *thing) (*thing, error) {
				if !decodes.Load() && (o.Name == "secret" || o.Name == "gone") {
					return nil, errors.New("cannot be stored")
				}
				return o, nil
			},
		}
		check := func(when, put, unsure string) {
			t.Helper()
			if got := r.told(durable.Put); got != put {
				t.Errorf("%s: written: %s, want %s", when, got, put)
			}
			if got := strings.Join(r.place.state.Point.Unsure, " "); got != unsure || r.place.state.Point.Version == "" {
				t.Errorf("%s: version %q, unsure keys %s, want %s", when, r.place.state.Point.Version, got, unsure)
			}
		}
		_ = r.run(opts, nil, nil)
		check("with another shape", "a/db a/web", "a/gone a/secret")
		_ = r.run(opts, nil, func(*durable.Mirror[*thing]) { later(time.Hour) })
		check("after a restart", "a/db a/web", "a/gone a/secret")
		if r.rows() != "a/db a/gone a/secret a/web" {
			t.Errorf("rows: %s", r.rows())
		}
		_ = r.run(opts, nil, func(*durable.Mirror[*thing]) {
			if _, err := r.server.Delete("configmaps", "a", "gone"); err != nil {
				t.Fatal(err)
			}
			later(time.Minute)
			decodes.Store(true)
			later(time.Hour)
		})
		check("when it can be decoded", "a/db a/secret a/web", "")
		if r.rows() != "a/db a/secret a/web" || r.place.state.Reshaped {
			t.Errorf("rows: %s; reshaped: %v", r.rows(), r.place.state.Reshaped)
		}
		for _, c := range r.commits {
			for _, change := range c.changes {
				if change.Op == durable.Inferred && change.Meta != gone {
					t.Errorf("%+v is inferred, want %+v", change.Meta, gone)
				}
			}
		}
		if r.told(durable.Inferred) != "a/gone" {
			t.Errorf("inferred: %s", r.told(durable.Inferred))
		}
	})
}
