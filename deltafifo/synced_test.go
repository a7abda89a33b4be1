package deltafifo_test

import (
	"context"
	"sync"
	"testing"
)

// A saved copy stands for the first list.
func TestSavedCopyStandsForTheFirstList(t *testing.T) {
	f := newFixture(t, options{}, "a@1", "b@1")
	f.add("c@2")
	f.q.Resumed()
	if !f.q.HasSynced() {
		t.Error("not synced, although the copy was resumed")
	}
	f.q.Resumed()
	f.replace("a@3")
	f.want("c: Added@2 Deleted?@2", "a: Replaced@3", "b: Deleted?@1")

	f = newFixture(t, options{}, "a@1")
	f.replace("a@1")
	f.q.Resumed()
	if f.q.HasSynced() {
		t.Error("synced before the list was processed, because the copy was resumed later")
	}
	f.drain()
	if !f.q.HasSynced() {
		t.Error("not synced after the list was processed")
	}
}

// With Options.OnMarkPassed, the queue has synced once the consumer has been told the version of
// the first list.
func TestRule8PassedKnowsTheVersion(t *testing.T) {
	for _, list := range [][]string{nil, {"a@1", "b@2"}} {
		told := ""
		var f *fixture
		f = newFixture(t, options{OnMarkPassed: func(version string) {
			if f.q.HasSynced() {
				t.Errorf("synced before Passed was called with %s", version)
			}
			told += version
		}})
		f.list("5", list...)
		if f.q.HasSynced() {
			t.Errorf("a list of %d objects is synced at once", len(list))
		}
		f.drain()
		f.q.Mark("5")
		ctx, stop := context.WithCancel(t.Context())
		var pop sync.WaitGroup
		pop.Go(func() { _ = popOne(ctx, f.q) })
		<-f.q.Synced()
		if told != "5" {
			t.Errorf("a list of %d objects is synced when Passed was called with %q", len(list), told)
		}
		stop()
		pop.Wait()
		if told != "5" {
			t.Errorf("Passed was called with %q in all", told)
		}
	}
	f := newFixture(t, options{OnMarkPassed: func(version string) { t.Errorf("passed %s", version) }})
	f.list("", "a@1")
	f.drain()
	if !f.q.HasSynced() {
		t.Error("a list without a version is not synced")
	}
	f = newFixture(t, options{OnMarkPassed: func(version string) { t.Errorf("passed %s", version) }})
	f.list("5", "a@1")
	f.popFailing()
	if !f.q.HasSynced() {
		t.Error("a list whose last entry has failed is not synced")
	}
}
