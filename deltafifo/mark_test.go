package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/deltafifo"
)

func (f *fixture) passed(want string) {
	f.Helper()
	if got := f.q.Passed(); got != want {
		f.Errorf("passed is %q, want %q", got, want)
	}
}

func (f *fixture) list(version string, list ...string) {
	f.Helper()
	f.must(f.q.Replace(objs(list...), version))
}

// A mark is passed when all entries before it have been processed, and not while the last of them
// is being processed.
func TestMarkIsPassedBehindWhatIsBeforeIt(t *testing.T) {
	f := newFixture(t, options{})
	f.q.Mark("1")
	f.passed("1") // nothing is before it
	f.add("a@2")
	f.add("b@3")
	f.q.Mark("3")
	f.add("c@4")
	f.update("a@5") // joins the entry before the mark
	f.q.Mark("5")
	f.passed("1")
	f.pop()
	f.passed("1")
	f.pop(func() { f.passed("1") })
	f.passed("3")
	f.pop(func() { f.q.Mark("6") })
	f.passed("6")
	for _, none := range []string{"", "0"} {
		f.q.Mark(none)
		f.passed("6")
	}
}

// If the server was rolled back, the marks that wait belong to another history, and are never
// passed.
func TestMarksOfAnotherHistoryAreRemoved(t *testing.T) {
	t.Run("by a list", func(t *testing.T) {
		f := newFixture(t, options{})
		f.q.Mark("10")
		f.add("a@11")
		f.q.Mark("11")
		f.add("b@12")
		f.q.Mark("12")
		f.list("7", "a@5", "b@4")
		f.pop()
		f.passed("10")
		f.q.Mark("7")
		f.passed("10")
		f.pop()
		f.passed("7")
		f.add("c@8")
		f.q.Mark("8")
		f.drain()
		f.passed("8")
	})
	t.Run("by a mark", func(t *testing.T) {
		f := newFixture(t, options{})
		f.add("a@11")
		f.q.Mark("11")
		f.add("b@5")
		f.q.Mark("7")
		f.pop()
		f.passed("")
		f.pop()
		f.passed("7")
	})
	t.Run("behind a failure", func(t *testing.T) {
		f := newFixture(t, options{})
		f.add("a@11")
		f.q.Mark("11")
		f.popFailing()
		f.list("7", "b@5")
		f.passed("")
		f.q.Mark("7")
		f.drain()
		f.passed("7")
	})
}

// If process fails for an object, the consumer lacks it, so no mark is passed until the consumer
// has the object, or the object is gone.
func TestFailedEntryKeepsMarksFromBeingPassed(t *testing.T) {
	for _, test := range []struct {
		name   string
		known  []string
		mend   func(f *fixture)
		passed string
	}{
		{"a good update", nil, func(f *fixture) { f.update("a@4"); f.pop() }, "3"},
		{"an update that waits", nil, func(f *fixture) { f.update("a@4") }, "1"},
		{"another failure", nil, func(f *fixture) { f.update("a@4"); f.popFailing() }, "1"},
		{"another object", nil, func(f *fixture) { f.update("c@4"); f.q.Mark("4"); f.pop() }, "1"},
		{"a good update of all that failed", nil, func(f *fixture) {
			f.update("c@4")
			f.popFailing()
			f.q.Mark("4")
			f.update("a@5")
			f.pop()
			f.passed("1")
			f.update("c@6")
			f.pop()
		}, "4"},
		{"its deletion, if it was never known", nil, func(f *fixture) { f.delete("a@4") }, "3"},
		{"its deletion, processed", []string{"a@1"}, func(f *fixture) {
			f.delete("a@4")
			f.passed("1")
			f.pop()
		}, "3"},
		{"a list with it", nil, func(f *fixture) { f.list("4", "a@4", "b@3"); f.passed("1"); f.pop() }, "3"},
		{"a list without it, if it was never known", nil, func(f *fixture) { f.list("4", "b@3") }, "3"},
		{"a list without it", []string{"a@1"}, func(f *fixture) {
			f.list("4", "b@3")
			f.pop()
			f.passed("1")
			f.pop()
		}, "4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, options{}, test.known...)
			f.q.Mark("1")
			f.add("a@2")
			f.q.Mark("2")
			f.add("b@3")
			f.q.Mark("3")
			f.popFailing()
			f.passed("1")
			f.pop()
			f.passed("1")
			test.mend(f)
			f.passed(test.passed)
		})
	}
}

// Options.OnMarkPassed is called between entries, by the Pop that processed the last entry before
// the mark, or by a Pop that waits.
func TestPassedIsToldBetweenEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string // not guarded: the race detector would see two at once
		var q *deltafifo.Queue[*testObject]
		q = deltafifo.New(options{OnMarkPassed: func(version string) {
			if q.Passed() == version {
				t.Errorf("%s counts as passed before Passed has returned", version)
			}
			log = append(log, "passed "+version)
		}})
		var pops sync.WaitGroup
		for range 3 {
			pops.Go(func() {
				for {
					err := q.Pop(context.Background(), func(e deltafifo.Entry[*testObject]) error {
						log = append(log, format(e))
						return nil
					})
					if errors.Is(err, deltafifo.ErrClosed) {
						return
					}
				}
			})
		}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(log, want) {
				t.Errorf("the consumer was told %q, want %q", log, want)
			}
			log = nil
		}
		q.Mark("1")
		expect("passed 1")
		_ = q.Add(obj("a@2"))
		expect("a: Added@2")
		q.Mark("2")
		q.Mark("3")
		expect("passed 3")
		for i := 4; i < 100; i++ {
			_ = q.Add(obj(fmt.Sprintf("%d@%d", i, i)))
			q.Mark(fmt.Sprint(i))
		}
		synctest.Wait()
		at := 0
		for _, line := range log {
			var n int
			if _, err := fmt.Sscanf(line, "passed %d", &n); err != nil {
				at++
			} else if n > at+3 {
				t.Errorf("passed %d after entry %d", n, at+3)
			}
		}
		if q.Passed() != "99" {
			t.Errorf("passed is %s in the end, want 99", q.Passed())
		}
		q.Close()
		pops.Wait()
	})
}

// WaitForVersion and Wait return after Options.OnMarkPassed has returned for the mark, and not when
// the mark is reached.
func TestWaitForMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, goOn := make(chan string), make(chan struct{})
		q := deltafifo.New(options{OnMarkPassed: func(version string) { told <- version; <-goOn }})
		_ = q.Add(obj("a@2"))
		q.Mark("2")
		done := make(chan string, 2)
		wait := func(name string, f func(context.Context) error) {
			go func() {
				if err := f(t.Context()); err != nil {
					name += ": " + err.Error()
				}
				done <- name
			}()
		}
		wait("WaitForVersion", func(ctx context.Context) error { return q.WaitForVersion(ctx, "2") })
		wait("Wait", q.Wait)
		synctest.Wait()
		go func() { _ = popOne(t.Context(), q) }()
		<-told
		synctest.Wait()
		wait("Wait for what is being told", q.Wait)
		synctest.Wait()
		if len(done) > 0 {
			t.Errorf("%s returned before Passed", <-done)
		}
		close(goOn)
		got := []string{<-done, <-done, <-done}
		slices.Sort(got)
		if want := []string{"Wait", "Wait for what is being told", "WaitForVersion"}; !slices.Equal(got, want) {
			t.Errorf("%q returned, want %q", got, want)
		}
		wait("WaitForVersion of the past", func(ctx context.Context) error { return q.WaitForVersion(ctx, "1") })
		wait("Wait for nothing", q.Wait)
		<-done
		<-done
		q.Mark("3") // due, and no Pop is there to hand it over
		wait("Wait", q.Wait)
		synctest.Wait()
		if len(done) > 0 {
			t.Error("Wait returned before Passed was told of what was due")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = popOne(ctx, q) }()
		<-told
		<-done
		cancel()
		if err := q.WaitForVersion(t.Context(), "new"); err == nil {
			t.Error("WaitForVersion takes a version that is no number")
		}
	})
}

// The end of the context and Close make WaitForVersion and Wait return.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := deltafifo.New(options{})
		_ = q.Add(obj("a@2"))
		waits := []func(context.Context) error{q.Wait, func(ctx context.Context) error { return q.WaitForVersion(ctx, "2") }}
		expect := func(ctx context.Context, end func(), want error) {
			t.Helper()
			done := make(chan error, len(waits))
			for _, wait := range waits {
				go func() { done <- wait(ctx) }()
			}
			synctest.Wait()
			end()
			for range waits {
				if err := <-done; !errors.Is(err, want) {
					t.Errorf("released with %v, want %v", err, want)
				}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		expect(ctx, cancel, context.Canceled)
		expect(t.Context(), q.Close, deltafifo.ErrClosed)
		expect(t.Context(), func() {}, deltafifo.ErrClosed)
	})
}
