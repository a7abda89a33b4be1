package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
)

// While the server is away, its storage goes back, and it may then write versions that the copy has
// seen already, or forget them. If it is the same cluster, a backup was restored, and the copy
// follows. If it is another cluster, no row is changed.
func TestIdentify(t *testing.T) {
	unknown := errors.New("nobody knows")
	for name, cluster := range map[string]struct {
		uid     string
		err     error
		follows bool
	}{
		"the same cluster": {"c1", nil, true},
		"another cluster":  {"c2", nil, false},
		"no answer":        {"", unknown, false},
	} {
		for how, back := range map[string]struct {
			creates int
			change  func(*apitest.Server)
		}{
			"behind":    {0, func(*apitest.Server) {}},
			"ahead":     {5, func(*apitest.Server) {}},
			"far ahead": {50, func(*apitest.Server) {}}, // more than 20 batches wait
			"compacted": {50, (*apitest.Server).Compact},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					r.create("a", "web", nil)
					backup := r.server.ResourceVersion()
					uid, uidErr, asked := "c1", error(nil), 0
					identify := func(o *durable.Options) {
						o.BatchRows = 1
						o.Identify = func(context.Context) (string, error) {
							asked++
							return uid, uidErr
						}
					}
					want := ""
					err := r.run(listwatch.Options[*thing]{}, identify, func(m *durable.Mirror[*thing]) {
						for i := range 3 {
							r.create("a", fmt.Sprint("lost", i), nil)
						}
						later(time.Minute)
						if asked != 1 {
							t.Errorf("the cluster was asked for %d times, want once, for the first list", asked)
						}
						want = r.rows()
						r.refuse(3 * time.Second)
						later(2 * time.Second)
						uid, uidErr = cluster.uid, cluster.err
						must.OK(t, r.server.Restore(apitest.Restore{ResourceVersion: backup}))
						for i := range back.creates {
							r.create("b", fmt.Sprint("new", i), nil)
						}
						back.change(r.server)
						later(10 * time.Minute)
						if cluster.follows {
							want = "a/web"
							for i := range back.creates {
								want += fmt.Sprint(" b/new", i)
							}
							want = strings.Join(slices.Sorted(slices.Values(strings.Fields(want))), " ")
						}
						if s := m.Status(); cluster.err != nil && !errors.Is(s.Err, unknown) {
							t.Errorf("the status has %v, want that nobody knows the cluster", s.Err)
						}
					})
					if r.rows() != want {
						t.Errorf("the rows are %s, want %s", r.rows(), want)
					}
					if _, ok := errors.AsType[*durable.MismatchError](err); ok != (cluster.uid == "c2") {
						t.Errorf("Run has returned %v", err)
					}
					if cluster.err == nil && asked > 10 { // once for each outage, and a watch without a sound for 55 s is one
						t.Errorf("the cluster was asked for %d times", asked)
					}
				})
			})
		}
	}
}

// start starts a program.
func (r *rig) start(to durable.Copy[*thing]) (ended <-chan error) {
	r.t.Helper()
	configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{})
	if err != nil {
		r.t.Fatal(err)
	}
	m, err := durable.New(configs, to, durable.Options{
		Stream: durable.StreamOf("c1", configMaps, listwatch.Options[*thing]{}, ""), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- m.Run(r.t.Context()) }()
	return end
}

// wantFenced wants that a program has ended because another one has opened the copy.
func (r *rig) wantFenced(ended <-chan error) {
	r.t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, durable.ErrFenced) {
			r.t.Errorf("the first program has ended with %v, want ErrFenced", err)
		}
	default:
		r.t.Error("the first program has not ended")
	}
}

// A program whose database fails opens the copy again, but not if another program has opened it
// meanwhile: the later one continues.
func TestFailureDoesNotTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		var fails atomic.Bool
		failing := r.place.open(t)
		failing.fail = func(call string) (error, error) {
			if fails.Load() && call != "load" {
				return errDatabase, nil
			}
			return nil, nil
		}
		first := r.start(failing)
		later(time.Minute)
		fails.Store(true)
		r.create("a", "db", nil)
		later(time.Second) // the first has failed, and continues trying
		second := r.start(r.place.open(t))
		later(time.Minute)
		fails.Store(false)
		later(time.Minute)
		r.wantFenced(first)
		r.create("a", "last", nil)
		later(time.Minute)
		select {
		case err := <-second:
			t.Errorf("the second program has ended with %v", err)
		default:
		}
		if r.rows() != "a/db a/last a/web" {
			t.Errorf("the rows are %s", r.rows())
		}
	})
}

// interrupted is a Copy that something happens to after its first Load.
type interrupted struct {
	durable.Copy[*thing]
	afterLoad func()
}

func (c *interrupted) Load(ctx context.Context) (durable.State, error) {
	state, err := c.Copy.Load(ctx)
	if c.afterLoad != nil {
		c.afterLoad()
		c.afterLoad = nil
	}
	return state, err
}

// A program that opens a copy is not stopped by an earlier one that commits in the middle of the
// opening.
func TestOpeningWhileAnEarlierProgramCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", "web", nil)
		first := r.start(r.place.open(t))
		later(time.Minute)
		second := r.start(&interrupted{r.place.open(t), func() {
			r.create("a", "db", nil)
			<-time.After(time.Second) // until the first has committed it
		}})
		later(time.Minute)
		r.create("a", "last", nil)
		later(time.Minute)
		r.wantFenced(first)
		select {
		case err := <-second:
			t.Errorf("the second program has ended with %v", err)
		default:
		}
		if r.rows() != "a/db a/last a/web" || r.place.state.Epoch != 2 {
			t.Errorf("the rows are %s, the epoch is %d", r.rows(), r.place.state.Epoch)
		}
	})
}

// Somebody drops a table of several clusters while programs write to it. The one that notices first
// makes it again, and takes the version away from the copies of all clusters. The others have not
// been fenced: they list. If the states are dropped, too, they begin again. It does not matter if
// the database fails just then.
func TestVersionTakenAway(t *testing.T) {
	for _, failures := range []int{0, 1, 3} {
		t.Run(fmt.Sprintf("version, %d failures", failures), func(t *testing.T) {
			testTakenAway(t, func(s *durable.State) { s.Point = reflector.Point{} }, 2, failures)
		})
		t.Run(fmt.Sprintf("state, %d failures", failures), func(t *testing.T) {
			testTakenAway(t, func(s *durable.State) { *s = durable.State{} }, 1, failures)
		})
	}
}

func testTakenAway(t *testing.T, drop func(*durable.State), epoch int64, failures int) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := failures > 0
		var dropped atomic.Bool
		r.fail = func(call string) (before, after error) {
			if dropped.Load() && call == "load" && failures > 0 {
				failures--
				return errDatabase, nil
			}
			return nil, nil
		}
		r.create("a", "web", nil)
		r.create("a", "db", nil)
		err := r.run(listwatch.Options[*thing]{}, nil, func(m *durable.Mirror[*thing]) {
			r.place.mu.Lock()
			clear(r.place.rows)
			drop(&r.place.state)
			dropped.Store(true)
			r.place.mu.Unlock()
			later(time.Minute)
			r.create("a", "last", nil)
			later(time.Minute)
			want := "no other program has opened it"
			if failing {
				want = errDatabase.Error()
			}
			if s := m.Status(); s.Err == nil || !strings.Contains(s.Err.Error(), want) || !s.FailingSince.IsZero() {
				t.Errorf("the error is %v, failing since %v", s.Err, s.FailingSince)
			}
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, durable.ErrFenced) {
			t.Errorf("Run has ended with %v", err)
		}
		if r.rows() != "a/db a/last a/web" || r.place.state.Epoch != epoch {
			t.Errorf("the rows are %s, the epoch is %d", r.rows(), r.place.state.Epoch)
		}
	})
}
