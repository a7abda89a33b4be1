package relistprom_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
)

// Each metric of a controller moves when its cause is provoked.
func TestControllerMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		moved := map[string]bool{}
		moves := func(cause string, do func(), by series) {
			t.Helper()
			r.moves(cause, do, by)
			for name := range families(by) {
				moved[name] = true
			}
		}
		hold := make(chan struct{})
		errBusy := errors.New("busy")
		var told atomic.Int64
		var opts controller.Options
		moves("a controller begins", func() {
			opts = r.metrics.Controller("shops", controller.Options{
				Workers:      2,
				Logger:       slog.New(slog.DiscardHandler),
				OnReconciled: func(controller.Reconciled) { told.Add(1) },
			})
		}, series{`relist_controller_max_workers{name="shops"}`: 2})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		begin := func() {
			go func() {
				defer close(ended)
				_ = controller.Run(ctx, func(ctx context.Context, key string) (time.Duration, error) {
					switch key {
					case "slow":
						<-hold
					case "again":
						return time.Hour, nil
					case "fails":
						return 0, errBusy
					case "panics":
						panic("spoiled")
					case "writes":
						_, err := r.writes.Create(ctx, &ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
						return 0, err
					}
					return 0, nil
				}, opts, controller.Watches(informer.New(r.list, informer.Options[*ConfigMap]{}), func(*ConfigMap) []string { return nil }))
			}()
		}
		defer func() { stop(); <-ended }()

		moves("keys are added", func() {
			opts.Queue.AddInitial("good")
			opts.Queue.Add("fails")
			opts.Queue.AddAfter("good-later", time.Hour)
		}, series{
			`relist_workqueue_depth{name="shops", priority="initial"}`: 1,
			`relist_workqueue_depth{name="shops", priority="live"}`:    1,
			`relist_workqueue_delayed_keys{name="shops"}`:              1,
			`relist_workqueue_adds_total{name="shops"}`:                2,
		})
		moves("nobody works", func() { pass(4 * time.Second) }, series{`relist_workqueue_oldest_key_seconds{name="shops"}`: 4})
		moves("workers begin", begin, series{
			`relist_workqueue_depth{name="shops", priority="initial"}`:                -1,
			`relist_workqueue_depth{name="shops", priority="live"}`:                   -1,
			`relist_workqueue_queue_duration_seconds_sum{name="shops"}`:               8,
			`relist_workqueue_queue_duration_seconds_bucket{le="10", name="shops"}`:   2,
			`relist_workqueue_queue_duration_seconds_count{name="shops"}`:             2,
			`relist_workqueue_work_duration_seconds_bucket{le="0.001", name="shops"}`: 2,
			`relist_controller_reconciles_total{name="shops", result="success"}`:      1,
			`relist_controller_reconciles_total{name="shops", result="error"}`:        1,
			`relist_workqueue_retries_total{name="shops"}`:                            1,
			`relist_workqueue_failing_keys{name="shops"}`:                             1,
			`relist_workqueue_delayed_keys{name="shops"}`:                             1,
		})
		moves("a key panics, and one asks for more", func() { opts.Queue.Add("panics", "again") }, series{
			`relist_controller_reconciles_total{name="shops", result="panic"}`:         1,
			`relist_controller_reconciles_total{name="shops", result="requeue_after"}`: 1,
		})
		moves("a key takes long", func() {
			opts.Queue.Add("slow")
			synctest.Wait()
			r.seen = r.scrape()
			pass(2 * time.Millisecond)
		}, series{
			`relist_workqueue_unfinished_work_seconds{name="shops"}`:           0.002,
			`relist_workqueue_longest_running_processor_seconds{name="shops"}`: 0.002,
		})
		close(hold)
		moves("it is done", synctest.Wait, series{
			`relist_controller_active_workers{name="shops"}`:                     -1,
			`relist_workqueue_work_duration_seconds_sum{name="shops"}`:           0.002,
			`relist_workqueue_unfinished_work_seconds{name="shops"}`:             -0.002,
			`relist_controller_reconciles_total{name="shops", result="success"}`: 1,
		})
		r.server.Stall()
		moves("a key waits for its write", func() { opts.Queue.Add("writes") }, series{
			`relist_controller_held_keys{name="shops"}`:                          1,
			`relist_controller_reconciles_total{name="shops", result="success"}`: 1,
		})
		if told.Load() != 6 {
			t.Errorf("the program's own Reconciled was called %d times, want 6", told.Load())
		}
		for name := range families(r.scrape()) {
			if !moved[name] {
				t.Errorf("nothing has moved %s", name)
			}
		}
	})
}

// A queue without a controller has metrics, too.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		q := controller.NewQueue[int](controller.QueueOptions{})
		r.metrics.Queue("numbers", q)
		q.Add(1, 2)
		r.reads(series{`relist_workqueue_depth{name="numbers", priority="live"}`: 2})
		r.metrics.Remove("numbers")
		if left := r.scrape(); len(left) > 0 {
			t.Errorf("after Remove there is %v", left)
		}
	})
}
