package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Namespaces come and go before and while it runs, and come again; handlers that are there and that
// come late are told.
func TestMulti(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x", "b/x", "c/x", "d/x"), informer.Options[*thing]{})
		var d, changes, late diary
		reg := r.handle(d.handler())
		if _, err := r.Observe("test", told(&changes)); err != nil {
			t.Fatal(err)
		}
		r.begin("b", "a", "d", "a")
		r.drop("d") // before Run: nobody was told
		r.drop("nowhere")
		if got := r.Namespaces(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("namespaces %q", got)
		}
		if r.HasSynced() {
			t.Error("synced before Run")
		}
		r.start()
		if err := r.WaitForSync(t.Context()); err != nil || !r.HasSynced() || !reg.HasSynced() {
			t.Errorf("WaitForSync returned %v; synced: %v %v", err, r.HasSynced(), reg.HasSynced())
		}
		d.take()
		changes.take()
		r.agree("a", "b")

		r.begin("c")
		d.expect(t, "add c/x=0 initial")
		changes.expect(t, "c/x none->0 initial")
		r.town.set("c/y", 1)
		r.town.set("a/x", 1)
		synctest.Wait()
		r.handle(late.handler())
		late.expect(t, "add a/x=1 initial; add b/x=0 initial; add c/x=0 initial; add c/y=1 initial")
		d.take()
		changes.take()

		r.drop("c")
		if got, want := d.take(), "delete c/x=0 inferred; delete c/y=1 inferred"; got != want {
			t.Errorf("told %s before Remove returned, want %s", got, want)
		}
		if got, want := late.take(), "delete c/x=0 inferred; delete c/y=1 inferred"; got != want {
			t.Errorf("a late handler was told %s before Remove returned, want %s", got, want)
		}
		changes.expect(t, "c/x 0->none; c/y 1->none")
		r.agree("a", "b")
		r.town.set("c/y", 2) // nobody looks
		r.town.set("b/y", 2)
		d.expect(t, "add b/y=2")

		r.begin("c")
		late.expect(t, "add b/y=2; add c/x=0 initial; add c/y=2 initial")
		r.agree("a", "b", "c")
	})
}

// A namespace that is refused is late, says why, and keeps none of the others from being live. When
// it is allowed, it comes.
func TestMultiRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x", "b/x", "c/x"), informer.Options[*thing]{})
		r.town.in("b").Fail(apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no")))
		var d diary
		reg := r.handle(d.handler())
		r.begin("a", "b", "c")
		r.start()
		if got := sorted(d.take()); got != "add a/x=0 initial; add c/x=0 initial" {
			t.Errorf("told %s", got)
		}
		r.town.set("c/x", 1)
		d.expect(t, "update c/x=0->1")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := r.WaitForSync(ctx)
		var late *informer.LateError
		if !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(err) {
			t.Fatalf("WaitForSync returned %v", err)
		}
		if len(late.Late) != 1 || late.Late[0].Name != "b" || late.Of != 3 || reg.HasSynced() || r.HasSynced() {
			t.Errorf("late: %+v", late)
		}
		want := `informer: 1 of 3 namespaces have not synced: b: informer: not synced: context deadline exceeded: the next request is sent in `
		if !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("error is %v, want %s…", err, want)
		}
		status := r.Status()
		if len(status) != 3 || status[1].Namespace != "b" || !apierrors.IsForbidden(status[1].LastError) || status[1].Synced {
			t.Errorf("status: %+v", status)
		}
		if status[0].LastError != nil || !status[0].Synced || status[0].ResourceVersion == "" {
			t.Errorf("status: %+v", status[0])
		}
		r.town.in("b").Fail(nil)
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Errorf("WaitForSync returned %v", err)
		}
		d.expect(t, "add b/x=0 initial")
		if !reg.HasSynced() {
			t.Error("the handler has not synced")
		}
	})
}

// The removal of the last namespace that is late lets the others be synced.
func TestMultiSyncsWithoutWhatIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x"), informer.Options[*thing]{})
		r.town.in("b").Fail(errors.New("no"))
		reg := r.handle(informer.Handler[*thing]{})
		r.begin("a", "b")
		r.start()
		waiting := inBackground(func() error { return r.WaitForSync(t.Context()) })
		later(time.Hour)
		if len(waiting) > 0 || reg.HasSynced() {
			t.Error("synced without b")
		}
		r.drop("b")
		synctest.Wait()
		if len(waiting) == 0 || !reg.HasSynced() || !r.HasSynced() {
			t.Fatal("not synced after b was removed")
		}
		if err := <-waiting; err != nil {
			t.Errorf("WaitForSync returned %v", err)
		}
		if got := len(r.Status()); got != 1 {
			t.Errorf("status of %d namespaces", got)
		}
	})
}

// The text of a LateError is bounded.
func TestLateErrorOfManyNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown(), informer.Options[*thing]{})
		for i := range 50 {
			r.begin(fmt.Sprintf("n%02d", i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := r.WaitForSync(ctx)
		if text := fmt.Sprint(err); !strings.Contains(text, `n09: informer: not synced: context canceled: Run was not called; and 40 more`) || len(text) > 1000 {
			t.Errorf("error is %s", text)
		}
	})
}

// The store is one: indexes, namespaces and snapshots of all.
func TestMultiStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		value := func(obj *thing) []string { return []string{fmt.Sprint(obj.Value)} }
		r := newMultiRig(t, newTown("a/x", "a-b/x"), informer.Options[*thing]{Indexers: store.Indexers[*thing]{"value": value}})
		r.begin("a", "a-b")
		r.start()
		s := r.Store()
		snapshot := s.Snapshot()
		if got := s.Keys(); !slices.Equal(got, []string{"a-b/x", "a/x"}) {
			t.Errorf("keys %q", got)
		}
		if got, err := s.IndexKeys("value", "0"); err != nil || len(got) != 2 {
			t.Errorf("index: %q, %v", got, err)
		}
		if err := s.AddIndexer("again", value); err != nil {
			t.Error(err)
		}
		r.drop("a")
		if got, err := s.IndexKeys("again", "0"); err != nil || !slices.Equal(got, []string{"a-b/x"}) || len(s.In("a")) > 0 {
			t.Errorf("index: %q, %v", got, err)
		}
		if snapshot.Len() != 2 || s.ResourceVersion() != "" {
			t.Errorf("snapshot of %d, version %q", snapshot.Len(), s.ResourceVersion())
		}
	})
}

// WaitForVersion waits for one namespace, whose versions are its own.
func TestMultiWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x", "b/x"), informer.Options[*thing]{})
		r.begin("a", "b")
		waiting := inBackground(func() error { return r.WaitForVersion(t.Context(), "a", "2") })
		removed := inBackground(func() error { return r.WaitForVersion(t.Context(), "b", "1000") })
		r.start()
		r.town.set("b/x", 2)
		synctest.Wait()
		if len(waiting) > 0 {
			t.Error("it did not wait for its namespace")
		}
		r.town.set("a/x", 2)
		if err := <-waiting; err != nil {
			t.Errorf("WaitForVersion returned %v", err)
		}
		if x, _ := r.Store().Get("a/x"); x.Value != 2 {
			t.Errorf("a/x is %+v", x)
		}
		r.drop("b")
		want := `informer: wait for resourceVersion 1000 in namespace "b": the namespace is not there, or was removed`
		for _, err := range []error{<-removed, r.WaitForVersion(t.Context(), "b", "1000")} {
			if err == nil || err.Error() != want {
				t.Errorf("WaitForVersion returned %v, want %s", err, want)
			}
		}
		waiting = inBackground(func() error { return r.WaitForVersion(t.Context(), "a", "1000") })
		synctest.Wait()
		r.halt()
		if err := <-waiting; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForVersion returned %v", err)
		}
	})
}

// What lists more than its namespace is refused, and does no harm to the others.
func TestMultiRefusesObjectsOfOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTown("a/x")
		r := newMultiRig(t, s, informer.Options[*thing]{})
		r.begin("a")
		r.start()
		s.in("wide").set("a/x", 7) // as if open had returned all namespaces
		s.in("wide").set("cluster", 7)
		r.begin("wide")
		later(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.WaitForSync(ctx); err == nil || !strings.Contains(err.Error(), `object "a/x" is not in namespace "wide"`) {
			t.Errorf("WaitForSync returned %v", err)
		}
		r.agree("a")

		s.in("b").set("b/x", 1)
		r.begin("b")
		synctest.Wait()
		s.in("b").set("a/x", 8)
		s.in("b").set("b/y", 1)
		s.in("b").Remove("a/x")
		later(time.Hour)
		if x, ok := r.Store().Get("a/x"); !ok || x.Value != 0 {
			t.Errorf("a/x is %+v", x)
		}
		if _, ok := r.Store().Get("b/y"); !ok {
			t.Error("b is not live")
		}
	})
}

func TestMultiAddThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown(), informer.Options[*thing]{})
		for namespace, want := range map[string]string{
			"forbidden": `informer: add namespace "forbidden": not that one`,
			"":          "informer: add namespace: the name of the namespace is empty: use an Informer for all namespaces",
		} {
			if err := r.Add(namespace); err == nil || err.Error() != want {
				t.Errorf("Add(%q) returned %v, want %s", namespace, err, want)
			}
		}
		none := informer.NewMultiNamespace(func(string) (source.ListWatcher[*thing], error) { return nil, nil }, informer.Options[*thing]{Logger: silent})
		if err := none.Add("a"); err == nil || !strings.Contains(err.Error(), "no ListWatcher") {
			t.Errorf("Add returned %v", err)
		}
		verifying := informer.NewMultiNamespace(r.town.open, informer.Options[*thing]{
			Logger: silent, Reflector: reflector.Options{Verify: reflector.VerifyOptions{Interval: time.Hour}},
		})
		if err := verifying.Add("a"); err == nil || !strings.Contains(err.Error(), "Verify") {
			t.Errorf("Add returned %v", err)
		}
		if got := r.Namespaces(); len(got) > 0 {
			t.Errorf("namespaces %q", got)
		}
	})
}

// A controller takes a MultiNamespace as it takes an Informer.
func TestMultiUnderAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMultiRig(t, newTown("a/x"), informer.Options[*thing]{})
		r.begin("a")
		reconciled := make(chan string, 10)
		ctx, cancel := context.WithCancel(t.Context())
		done := inBackground(func() error {
			return controller.Run(ctx, func(_ context.Context, key string) (time.Duration, error) {
				reconciled <- key
				return 0, nil
			}, controller.Options{Logger: silent}, controller.For(r.MultiNamespace))
		})
		if got := <-reconciled; got != "a/x" {
			t.Errorf("reconciled %s", got)
		}
		r.begin("b")
		r.town.set("b/x", 1)
		if got := <-reconciled; got != "b/x" {
			t.Errorf("reconciled %s", got)
		}
		r.drop("a")
		if got := <-reconciled; got != "a/x" {
			t.Errorf("reconciled %s after its namespace was removed", got)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("controller.Run returned %v", err)
		}
	})
}
