package relistprom_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	relistprom "github.com/relist-go/relist/prometheus"
	"github.com/relist-go/relist/reflector"
)

// start runs an informer with metrics until the test ends.
func (r *rig) start(opts informer.Options[*ConfigMap]) *informer.Informer[*ConfigMap] {
	r.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	opts.Reflector.Rand = func() float64 { return 0 }
	in := relistprom.NewInformer(r.metrics, "maps", r.list, opts)
	ctx, stop := context.WithCancel(r.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = in.Run(ctx) // it ends with ctx
	}()
	r.Cleanup(func() { stop(); <-ended })
	return in
}

// Each metric of an informer moves when its cause is provoked.
func TestInformerMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("one", "two")
		r.must(r.server.FailNext(apitest.Failure{Verb: "list", Status: 403}))
		moved := map[string]bool{}
		moves := func(cause string, do func(), by series) {
			t.Helper()
			r.moves(cause, do, by)
			for name := range families(by) {
				moved[name] = true
			}
		}

		metadata, err := r.list.Metadata()
		r.must(err)
		gate, consuming := make(chan struct{}), make(chan struct{}, 1)
		consuming <- struct{}{}
		moves("the first list is refused", func() {
			in := r.start(informer.Options[*ConfigMap]{
				Reflector: reflector.Options{Verify: reflector.VerifyOptions{Interval: 3 * time.Minute, Metadata: metadata}},
			})
			_, err := in.AddHandler(informer.Handler[*ConfigMap]{Name: "slow", OnUpdate: func(_, _ *ConfigMap) { <-gate }})
			r.must(err)
			_, err = in.Observe("slow", func(informer.Change[*ConfigMap]) { token := <-consuming; consuming <- token })
			r.must(err)
		}, series{
			`relist_lists_total{name="maps", result="error"}`:     1,
			`relist_problems_total{class="list", name="maps"}`:    1,
			`relist_backoffs_total{name="maps", reason="denied"}`: 1,
			`relist_state{name="maps", state="waiting"}`:          1,
		})
		moves("half of the delay passes", func() { pass(400 * time.Millisecond) }, series{
			`relist_staleness_seconds{name="maps"}`:      0.4,
			`relist_failing_seconds{name="maps"}`:        0.4,
			`relist_last_event_age_seconds{name="maps"}`: 0.4,
		})
		moves("the first list comes", func() { pass(400 * time.Millisecond) }, series{
			`relist_lists_total{name="maps", result="success"}`: 1,
			`relist_list_duration_seconds_count{name="maps"}`:   1,
			`relist_listed_objects_total{name="maps"}`:          2,
			`relist_objects{name="maps"}`:                       2,
			`relist_synced{name="maps"}`:                        1,
			`relist_watches_opened_total{name="maps"}`:          1,
			`relist_state{name="maps", state="waiting"}`:        -1,
			`relist_state{name="maps", state="watching"}`:       1,
			`relist_failing_seconds{name="maps"}`:               -0.4,
			`relist_staleness_seconds{name="maps"}`:             -0.4,
		})
		moves("objects come, change and go", func() {
			r.create("three")
			_, err := r.server.Patch("configmaps", "a", "one", map[string]any{"data": map[string]any{"key": "value"}})
			r.must(err)
			_, err = r.server.Delete("configmaps", "a", "two")
			r.must(err)
			synctest.Wait()
			_, err = r.server.Patch("configmaps", "a", "three", map[string]any{"data": map[string]any{"key": "value"}})
			r.must(err)
		}, series{
			`relist_events_total{name="maps", type="ADDED"}`:              1,
			`relist_events_total{name="maps", type="MODIFIED"}`:           2,
			`relist_events_total{name="maps", type="DELETED"}`:            1,
			`relist_handler_pending_objects{handler="slow", name="maps"}`: 2, // two and three; the handler is busy with one
			`relist_last_event_age_seconds{name="maps"}`:                  -0.8,
		})
		close(gate)
		moves("the handler wakes", synctest.Wait, series{`relist_handler_pending_objects{handler="slow", name="maps"}`: -2})
		moves("the store is held up", func() {
			<-consuming
			r.create("four", "five", "six")
		}, series{
			`relist_queue_depth{name="maps"}`: 2, // four is on its way into the store, and in it
			`relist_objects{name="maps"}`:     1,
		})
		consuming <- struct{}{}
		moves("a bookmark comes", func() {
			_, err := r.server.Create("nodes", map[string]any{"metadata": map[string]any{"name": "node"}})
			r.must(err)
			pass(2 * time.Minute)
		}, series{
			`relist_events_total{name="maps", type="BOOKMARK"}`: 1,
		})
		moves("an object cannot be used", func() { r.create("bad") }, series{
			`relist_quarantined_objects{name="maps"}`:            1,
			`relist_problems_total{class="object", name="maps"}`: 1,
		})
		moves("it is gone", func() {
			_, err := r.server.Delete("configmaps", "a", "bad")
			r.must(err)
		}, series{`relist_quarantined_objects{name="maps"}`: -1})
		moves("the watch ends, and the server has forgotten what came since", func() {
			r.server.Stall()
			r.create("seven")
			r.server.Compact()
			r.server.CutWatches(0)
			r.must(r.server.Resume())
			pass(time.Minute)
		}, series{
			`relist_watches_ended_total{name="maps", reason="connectionLost"}`: 1,
			`relist_watches_ended_total{name="maps", reason="expired"}`:        2, // before the last events, and at the resume version
			`relist_relists_total{name="maps", reason="expired"}`:              1,
		})
		moves("the server is away", func() {
			r.must(r.server.Refuse(0))
			pass(time.Millisecond)
		}, series{
			`relist_problems_total{class="server", name="maps"}`:               1,
			`relist_watches_ended_total{name="maps", reason="connectionLost"}`: 1,
			`relist_backoffs_total{name="maps", reason="unreachable"}`:         1,
			`relist_watches_ended_total{name="maps", reason="unreachable"}`:    1,
		})
		moves("it is back, and overloaded", func() {
			r.must(r.server.Resume())
			r.must(r.server.FailNext(apitest.Failure{Verb: "watch", Status: 503}))
			r.must(r.server.FailNext(apitest.Failure{Verb: "watch", Status: 429}))
			pass(time.Minute)
		}, series{`relist_problems_total{class="server", name="maps"}`: 2})
		moves("the server loses an event, and a verification finds out", func() {
			r.must(r.server.DropEvent("DELETED", 1))
			_, err := r.server.Delete("configmaps", "a", "seven")
			r.must(err)
			r.create("eight")
			pass(3 * time.Minute)
		}, series{
			`relist_verifications_total{name="maps"}`:           1,
			`relist_verified_differences_total{name="maps"}`:    1,
			`relist_problems_total{class="drift", name="maps"}`: 1,
		})
		for name := range families(r.scrape()) {
			if !moved[name] {
				t.Errorf("nothing has moved %s", name)
			}
		}
	})
}

// A server that has stalled accepts each new watch, so the staleness begins at 0 again and again.
// The alert RelistSilent asks for the age of the last event and for the state.
func TestIdleWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("one")
		r.start(informer.Options[*ConfigMap]{})
		r.server.Stall()
		pass(time.Hour)
		now := r.scrape()
		if age := now[`relist_last_event_age_seconds{name="maps"}`]; age != 3600 {
			t.Errorf("the last event came %v s ago", age)
		}
		if stale := now[`relist_staleness_seconds{name="maps"}`]; stale >= 900 {
			t.Errorf("the copy is stale by %v s: RelistStale says it, too", stale)
		}
		r.reads(series{`relist_state{name="maps", state="watching"}`: 1, `relist_failing_seconds{name="maps"}`: 0})
	})
}
