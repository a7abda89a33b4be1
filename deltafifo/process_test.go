package deltafifo_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// Rule 7: if process fails, exactly its entry is removed, and the caller of Pop gets the error.
func TestRule7ProcessLosesNoEntry(t *testing.T) {
	f := newFixture(t, options{})
	f.replace("a@1", "b@2")
	cause := errors.New("cause")
	if err := f.q.Pop(t.Context(), func(deltafifo.Entry[*testObject]) error { return cause }); err != cause { //nolint:errorlint // Pop promises the very error.
		t.Errorf("Pop: %v", err)
	}
	if f.q.HasSynced() {
		t.Error("synced before the last entry")
	}
	f.want("b: Replaced@2 initial")
	if !f.q.HasSynced() {
		t.Error("not synced although every entry was processed")
	}
}

// Rule 7: a function that panics, or calls runtime.Goexit as t.FailNow does, ends its Pop, and has
// failed. The queue continues.
func TestRule7FunctionsThatDoNotReturn(t *testing.T) {
	for how, end := range map[string]func(){"panic": func() { panic("end") }, "Goexit": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, options{OnMarkPassed: func(version string) {
					if version == "3" {
						end()
					}
				}})
				popThatEnds := func(process func(deltafifo.Entry[*testObject]) error) {
					var pop sync.WaitGroup
					pop.Go(func() {
						defer func() { _ = recover() }()
						err := f.q.Pop(t.Context(), process)
						t.Errorf("Pop returned %v", err)
					})
					pop.Wait()
				}
				f.list("2", "a@1", "b@2")
				popThatEnds(func(deltafifo.Entry[*testObject]) error { end(); return nil })
				f.pop()
				f.passed("")
				f.update("a@3")
				f.q.Mark("3")
				popThatEnds(f.apply)
				f.must(f.q.Wait(t.Context()))
				f.passed("")
				f.add("c@4")
				f.q.Mark("4")
				f.want("b: Replaced@2 initial", "c: Added@4")
				f.passed("4")
			})
		})
	}
}

func TestPopWithoutProcessTakesNothing(t *testing.T) {
	f := newFixture(t, options{})
	f.add("a@1")
	if err := f.q.Pop(t.Context(), nil); err == nil {
		t.Error("no error")
	}
	f.want("a: Added@1")
}

// Rule 7: the queue holds no lock while process or a method of Known runs, so both may call the
// queue.
func TestRule7UserCodeMayCallTheQueue(t *testing.T) {
	known := &hooked{Store: store.New(store.Options[*testObject]{})}
	f := newFixture(t, options{Known: known}, "z@1")
	f.known = known.Store
	f.must(f.known.Add(obj("z@1")))
	known.onGet = func(string) { f.q.Len(); f.q.HasSynced() }
	known.afterKeys = func() { f.q.Len() }
	f.replace("a@1")
	f.resync()
	f.delete("z@2")
	f.pop(func() {
		f.add("b@1")
		f.delete("b@2")
		f.resync()
		f.q.Len()
	})
	f.want("a: Replaced@1 initial", "z: Deleted@2 initial", "b: Added@1 Deleted@2")
}

// The consumer continues while the producer reads Known. The producer reads the keys again whose
// processing ends meanwhile.
func TestRule5ConsumerIsFasterThanReplace(t *testing.T) {
	for _, test := range []struct {
		name  string
		known []string
		queue func(f *fixture)
		then  func(f *fixture)
		want  []string
	}{
		{
			"no ghost of what came into Known", nil,
			func(f *fixture) { f.add("a@1") }, func(f *fixture) { f.replace() },
			[]string{"a: Added@1", "a: Deleted?@1 initial"},
		},
		{
			"no second deletion of what went from Known",
			[]string{"a@1"},
			func(f *fixture) { f.delete("a@2") }, func(f *fixture) { f.replace() },
			[]string{"a: Deleted@2"},
		},
		{
			"the tombstone has the new state",
			[]string{"a@1"},
			func(f *fixture) { f.update("a@2") }, func(f *fixture) { f.replace() },
			[]string{"a: Updated@2", "a: Deleted?@2 initial"},
		},
		{
			"the UID is the new one",
			[]string{"a#old@1"},
			func(f *fixture) { f.delete("a#old@2"); f.add("a#new@3") }, func(f *fixture) { f.replace("a#new@3") },
			[]string{"a: Deleted@2 Added@3", "a: Replaced@3 initial"},
		},
		{
			"a resync does not go back",
			[]string{"a@1"},
			func(f *fixture) { f.update("a@2") }, func(f *fixture) { f.resync() },
			[]string{"a: Updated@2", "a: Sync@2"},
		},
		{
			"a resync does not bring back",
			[]string{"a@1"},
			func(f *fixture) { f.delete("a@2") }, func(f *fixture) { f.resync() },
			[]string{"a: Deleted@2"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			known := &hooked{Store: store.New(store.Options[*testObject]{})}
			f := newFixture(t, options{Known: known})
			f.known = known.Store
			f.must(f.known.Replace(objs(test.known...), "1"))
			test.queue(f)
			known.afterKeys = f.drain
			test.then(f)
			f.want(test.want...)
		})
	}
}

// If an item is bad, the call returns an error and leaves the queue unchanged.
func TestProducerErrors(t *testing.T) {
	f := newFixture(t, options{})
	f.add("a@1")
	for _, err := range []error{
		f.q.Add(obj("@1")), f.q.Update(obj("@1")), f.q.Delete(obj("@1")), f.q.Replace(objs("b@1", "@1"), "1"),
	} {
		if !errors.Is(err, object.ErrNoName) {
			t.Errorf("an object without a name: %v", err)
		}
	}
	if f.q.HasSynced() {
		t.Error("a Replace that failed counts as the first")
	}
	f.want("a: Added@1")
}

// A consumer that waits for Ready, and then takes one entry, gets everything.
func TestTryPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		q := deltafifo.New(options{OnMarkPassed: func(version string) { told = append(told, "passed "+version) }})
		process := func(e deltafifo.Entry[*testObject]) error {
			told = append(told, format(e))
			if taken, err := q.TryPop(nothing); taken || err != nil {
				t.Errorf("while an entry is processed, TryPop returns %v, %v", taken, err)
			}
			if e.Key == "b" {
				return errProcess
			}
			return nil
		}
		var last error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for last == nil {
				<-q.Ready()
				if taken, err := q.TryPop(process); !taken {
					last = err
				} else if failed := errors.Is(err, errProcess); failed != (told[len(told)-1] == "b: Added@2") {
					t.Errorf("after %q, TryPop returns %v", told, err)
				}
			}
		}()
		if taken, err := q.TryPop(nothing); taken || err != nil {
			t.Errorf("TryPop of an empty queue returns %v, %v", taken, err)
		}
		q.Mark("1") // without an entry
		synctest.Wait()
		for _, s := range []string{"a@2", "b@2", "c@2"} {
			_ = q.Add(obj(s))
		}
		synctest.Wait()
		_ = q.Add(obj("d@3"))
		synctest.Wait()
		q.Close()
		<-done
		if want := []string{"passed 1", "a: Added@2", "b: Added@2", "c: Added@2", "d: Added@3"}; !slices.Equal(told, want) {
			t.Errorf("the consumer was told %q, want %q", told, want)
		}
		if !errors.Is(last, deltafifo.ErrClosed) {
			t.Errorf("in the end TryPop returns %v", last)
		}
	})
}

func nothing(deltafifo.Entry[*testObject]) error { return nil }
