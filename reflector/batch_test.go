package reflector

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// burst is a watch with several events in memory, as one over a chunked body is. What it
// is told comes together, and then, when it has waited, what it is told next.
type burst struct {
	*stream
	here []any // source.Event[string] or error
}

func (b *burst) Ready() bool { return len(b.here) > 0 }

func (b *burst) Next() (source.Event[string], error) {
	if !b.Ready() {
		e, err := b.stream.Next() // an event, with those behind it for an error
		var together *together
		if !errors.As(err, &together) {
			return e, err
		}
		b.here = together.events
	}
	first := b.here[0]
	b.here = b.here[1:]
	if err, ok := first.(error); ok {
		return source.Event[string]{}, err
	}
	return first.(source.Event[string]), nil
}

// together are events that come at once, on their way through a stream.
type together struct {
	error
	events []any
}

// send has events come at once: "+a@11" adds, "~a@12" changes, "-a@13" deletes, "=@14"
// is a bookmark. An error ends the stream behind them.
func (b *burst) send(events string, end error) {
	t := &together{error: errors.New("a burst")}
	for _, text := range strings.Fields(events) {
		typ := map[byte]object.EventType{'+': object.Added, '~': object.Modified, '-': object.Deleted, '=': object.Bookmark}[text[0]]
		key, version, _ := strings.Cut(text[1:], "@")
		t.events = append(t.events, source.Event[string]{Type: typ, Object: key, Meta: object.Meta{Key: key, ResourceVersion: version}})
	}
	if end != nil {
		t.events = append(t.events, end)
	}
	b.events <- t
}

// bursting answers the watch that is waited for.
func (r *rig) bursting() *burst {
	b := &burst{stream: &stream{events: make(chan any)}}
	r.fake.watches <- watchAnswer{stream: b.stream, as: b}
	return b
}

// syncedBursting is synced with such a watch.
func (r *rig) syncedBursting() *burst {
	r.t.Helper()
	r.synced2()
	r.told("replace a,b @10")
	r.expect(`watch "10" for 300s`)
	return r.bursting()
}

func TestBatchIsAppliedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := r.syncedBursting()
		b.send("+c@11 ~a@12 =@13 -b@14 ~c@15", nil)
		r.told("add c; update a; delete b; update c")
		if got := r.Status().ResourceVersion; got != "15" {
			t.Errorf("the resume version is %s, want 15", got)
		}
		b.event(object.Modified, "a", "16") // what comes alone
		r.told("update a")
	})
}

// TestManyBatches: more than the two that are used in turn.
func TestManyBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := r.syncedBursting()
		var events, want []string
		for i := range 5*maxBatch + 3 {
			events = append(events, fmt.Sprintf("~o%d@%d", i, 11+i))
			want = append(want, fmt.Sprintf("update o%d", i))
		}
		b.send(strings.Join(events, " "), nil)
		r.told(strings.Join(want, "; "))
	})
}

// TestEndBehindABatch: what came before the end of a stream is applied, and the watch
// continues behind it.
func TestEndBehindABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := r.syncedBursting()
		b.send("+c@11 ~a@12", io.EOF)
		r.told("add c; update a")
		r.expect(`watch "10" for 300s`) // which has to repeat the two events
		if got := r.Status().ResourceVersion; got != "12" {
			t.Errorf("the resume version is %s, want 12", got)
		}
		if !b.closed {
			t.Error("the stream that ended was not closed")
		}
	})
}

// TestStatusWithinABatch: the resume version is that of the events that were applied, while
// the sink takes its time over the next.
func TestStatusWithinABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := r.syncedBursting()
		synctest.Wait()
		var within []string
		r.sink.hook = func(line string) { within = append(within, line+" after "+r.Status().ResourceVersion) }
		b.send("+c@11 ~a@12 ~b@13", nil)
		synctest.Wait()
		if got, want := strings.Join(within, "; "), "add c after 10; update a after 11; update b after 12"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestStopWithinABatch: what the sink has not had when Run is to end comes again with the
// next one.
func TestStopWithinABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := r.syncedBursting()
		synctest.Wait()
		r.sink.hook = func(line string) {
			if line == "update a" {
				r.stop()
			}
		}
		b.send("+c@11 ~a@12 ~b@13", nil)
		r.told("add c; update a")
		_ = r.end()
		if got := r.Status().ResourceVersion; got != "12" {
			t.Errorf("the resume version is %s, want 12", got)
		}
		r.run()
		r.expect(`watch "10" for 300s`) // which has to repeat the two events
	})
}

// TestWatchGivenUpWithinABatch: the rest of a batch belongs to a watch that is over, and
// comes again.
func TestWatchGivenUpWithinABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{BackoffBase: -1, BackoffCap: -1})
		b := r.syncedBursting()
		refused := errors.New("no room")
		var events []string
		r.sink.always = map[string]error{}
		for i := range 101 {
			events = append(events, fmt.Sprintf("+x%d@%d", i, 11+i))
			r.sink.always[fmt.Sprintf("add x%d", i)] = refused
		}
		b.send(strings.Join(events, " ")+" +y@900", nil)
		r.expect(fmt.Sprintf(`list "%d" limit 0 continue ""`, 110))
		if told := r.sink.take(); strings.Contains(told, "add y") {
			t.Errorf("an event of a watch that was given up was applied: %s", told)
		}
	})
}

// TestSlowSinkIsNotIdle: a stream whose events wait for the sink is not idle,
// however long that takes. By chance the clock is looked at before them, or after.
func TestSlowSinkIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MinWatchTimeout: -1})
		r.expect(`list "0" limit 500 continue ""`)
		r.fake.page("10")
		r.expect(`watch "10"`)
		s := r.fake.open()
		for version := 11; version < 14; version++ {
			later(50 * time.Second)
			s.event(object.Bookmark, "", fmt.Sprint(version))
		}
		synctest.Wait()
		r.sink.hook = func(string) { <-time.After(3 * time.Minute) }
		for version := 14; version < 34; version++ {
			more := source.Event[string]{Type: object.Modified, Object: "a", Meta: object.Meta{Key: "a", ResourceVersion: fmt.Sprint(version)}}
			select {
			case s.events <- more:
			case <-s.ctx.Done():
			}
			r.expect("") // no other watch
		}
	})
}
