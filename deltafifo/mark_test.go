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
		wait("WaitForVersion of what comes later", func(ctx context.Context) error { return q.WaitForVersion(ctx, "3") })
		wait("Wait", q.Wait)
		synctest.Wait()
		wait("WaitForVersion", func(ctx context.Context) error { return q.WaitForVersion(ctx, "2") })
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
		_, _ = <-done, <-done
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
