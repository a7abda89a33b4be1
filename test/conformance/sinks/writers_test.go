package sinks

import (
	"flag"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

var takeovers = flag.Int("takeovers", 10, "how often TestTwoWriters starts a second program, for each database")

// TestTwoWriters stops a program with SIGSTOP at a random moment, starts a second one, changes
// objects, and lets the first one go on. The first ends by itself, because it is fenced. Nothing of
// the second's is lost, written twice or undone.
func TestTwoWriters(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			total := &tally{}
			most := min(5, max(2, *takeovers/5))
			t.Run("worlds", func(t *testing.T) {
				for i := range most {
					t.Run(fmt.Sprint(i), func(t *testing.T) {
						t.Parallel()
						db := newDatabase(t, kind)
						w := newWorld(t, newServer(t), *seed+100+uint64(i), db.unstorable(), 600)
						newKiller(w, db, true, total).takeOver((*takeovers + i) / most)
					})
				}
			})
			t.Logf("%v", total.counts)
		})
	}
}

// takeOver has programs take over from each other, n times.
func (k *killer) takeOver(n int) {
	w := k.w
	stop := w.churn(10 * time.Millisecond)
	defer stop()
	first := k.start("-share")
	first.mustSay("commit", func(l line) bool { return l.What == "commit" && l.Version != "" })
	for range n {
		w.wait(200 * time.Millisecond)
		first.signal(syscall.SIGSTOP)
		second := k.start("-share")
		if !second.awaitLine(3*time.Second, opened) {
			// The first is in a transaction. Nobody can write before that has ended.
			k.total.count("stopped in a transaction")
			first.signal(syscall.SIGCONT)
			second.mustSay("open", opened)
		}
		epoch := k.db.read(k.t).state.Epoch
		second.mustSay("commit", func(l line) bool { return l.What == "commit" && l.Count > 0 })
		k.check(k.db.read(k.t))
		first.signal(syscall.SIGCONT)
		status, stderr := first.exit()
		if status != 3 || !strings.Contains(stderr, "another program has opened the copy") {
			k.t.Fatalf("the first program has ended with status %d, want 3, because it is fenced:\n%s", status, stderr[max(0, len(stderr)-2000):])
		}
		k.total.count("fenced")
		k.note(first)
		c := k.db.read(k.t)
		if c.state.Epoch != epoch {
			k.t.Errorf("the epoch was %d when the second program had opened the copy, and is %d after the first has ended", epoch, c.state.Epoch)
		}
		k.check(c)
		if k.t.Failed() {
			return
		}
		first = second
	}
	stop()
	k.note(first)
	first.kill()
	k.settle()
}
