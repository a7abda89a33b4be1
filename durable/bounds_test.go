package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
)

// If the same object fails in each try of a first list, the pauses become longer, although each try
// commits what came before it.
func TestPausesOfFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 47 {
			r.create("a", fmt.Sprint("o", i), nil)
		}
		configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
		must.OK(t, err)
		to := r.place.open(t)
		writes := 0
		var healed atomic.Bool
		to.fail = func(call string) (error, error) {
			switch call {
			case "load":
				writes = 0
			case "write":
				if writes++; writes == 4 && !healed.Load() {
					return errDatabase, nil
				}
			}
			return nil, nil
		}
		m, err := durable.New(configs, to, durable.Options{
			Stream: durable.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), BatchRows: 10,
			Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
		})
		must.OK(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		later(10 * time.Minute)
		if lists, _, _ := r.asked(); lists < 20 || lists > 50 {
			t.Errorf("%d lists in ten minutes, want one each 15 to 30 seconds", lists)
		}
		if s := m.Status(); time.Since(s.FailingSince) < 9*time.Minute || r.count() != 30 {
			t.Errorf("failing since %v, with %d rows; want that it has been failing for ten minutes, with 30", s.FailingSince, r.count())
		}
		healed.Store(true)
		later(time.Minute)
		if s := m.Status(); !s.FailingSince.IsZero() || r.count() != 47 {
			t.Errorf("failing since %v, with %d rows; want all that the server has", s.FailingSince, r.count())
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run has returned %v", err)
		}
		for _, line := range []string{"relist: copy cannot be written", "relist: copy written again"} {
			if n := strings.Count(r.log.String(), line); n != 1 {
				t.Errorf("the log has %q %d times, want once", line, n)
			}
		}
	})
}

// count returns the number of rows.
func (r *rig) count() int {
	r.place.mu.Lock()
	defer r.place.mu.Unlock()
	return len(r.place.rows)
}

// While nobody knows whether the server is the same, few changes wait for the answer, and many are
// committed without a version.
func TestChangesWithoutPoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		_ = r.run(listwatch.Options[*thing]{}, func(o *durable.Options) { o.BatchRows = 10 }, func(m *durable.Mirror[*thing]) {
			version := m.Status().Committed.Point.Version
			must.OK(t, r.server.FailNext(apitest.Failure{For: 2 * time.Hour, Verb: "list"}))
			r.refuse(20 * time.Second)
			later(time.Minute)
			most := 0
			for i := range 2000 {
				r.create("a", fmt.Sprint("o", i), nil)
				if i%20 == 0 {
					later(time.Second)
					most = max(most, m.Status().Pending)
				}
				if i == 100 && (m.Status().Pending != 101 || m.Status().Committed.Point.Version != version) {
					t.Errorf("after 101 changes, %d wait, and the copy is at version %q; want that all wait", m.Status().Pending, m.Status().Committed.Point.Version)
				}
			}
			later(time.Minute)
			if s := m.Status(); most > 220 || s.Pending > 0 || r.count() != 2001 || s.Committed.Point.Version != "" {
				t.Errorf("after 2000 changes, %d wait (%d at most), and the copy has %d rows at version %q; want few that wait, and no version",
					s.Pending, most, r.count(), s.Committed.Point.Version)
			}
			later(3 * time.Hour)
			if s := m.Status(); s.Pending > 0 || s.Committed.Point.Version != r.server.ResourceVersion() {
				t.Errorf("at last, %d changes wait, and the copy is at version %q; want %s", s.Pending, s.Committed.Point.Version, r.server.ResourceVersion())
			}
		})
		if lists, _, _ := r.asked(); lists > 1 {
			t.Errorf("%d lists, want the first alone: nothing is wrong with the copy", lists)
		}
	})
}
