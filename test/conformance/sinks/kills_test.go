package sinks

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var (
	kills = flag.Int("kills", 25, "how often TestKills kills a program, for each database")
	seed  = flag.Uint64("seed", 0, "of the dice of TestKills")
)

// TestKills kills the program with SIGKILL: while it opens its table, in its first list, in later
// lists, and between events. One time in five, the server is restored from a backup, while the
// program runs or after it was killed. After each kill, every row whose key is not unsure is what
// the server had at the version of the table.
func TestKills(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			total := &tally{}
			most := min(10, max(3, *kills/10))
			t.Run("worlds", func(t *testing.T) {
				for i := range most {
					n := (*kills + i) / most
					t.Run(fmt.Sprint(i), func(t *testing.T) {
						t.Parallel()
						db := newDatabase(t, kind)
						w := newWorld(t, newServer(t), *seed+uint64(i), db.unstorable(), 600)
						k := newKiller(w, db, i%2 == 0, total)
						k.play(n, (n+4)/5)
					})
				}
			})
			t.Logf("%v", total.counts)
			for _, what := range []string{"killed in a first list", "killed in a list", "killed between events", "restored", "doubts: refused"} {
				if *kills >= 100 && total.of(what) < *kills/25 {
					t.Errorf("%s: %d times; the test has become harmless", what, total.of(what))
				}
			}
		})
	}
}

// killer runs programs that follow each other and share a table.
type killer struct {
	t       *testing.T
	w       *world
	db      database
	history bool
	total   *tally
	lists   [][2]string // versions before and after the lists that were committed
}

func newKiller(w *world, db database, history bool, total *tally) *killer {
	return &killer{t: w.t, w: w, db: db, history: history, total: total}
}

func (k *killer) start(more ...string) *program {
	args := append(k.db.args(), "-server", k.w.server.address, "-page", "20", "-batch", "25", "-delay", "20ms", fmt.Sprintf("-history=%v", k.history))
	return run(k.t, append(args, more...)...)
}

// play kills programs n times, and restores some backups.
func (k *killer) play(n, restores int) {
	stop := k.w.churn(15 * time.Millisecond)
	defer stop()
	for i := range n {
		restore := restores > 0 && i%max(1, n/restores) == 1 && k.w.restores < restores
		k.round(restore)
		if k.t.Failed() {
			return
		}
	}
	for k.w.restores < restores && !k.t.Failed() {
		k.round(true)
	}
	stop()
	k.settle()
}

// round starts a program, kills it and compares.
func (k *killer) round(restore bool) {
	w := k.w
	how := w.roll(10)
	switch {
	case restore:
		k.prepareRestore()
	case w.isRestored(), how == 0: // the program goes on from what is there
	case how <= 2:
		k.db.wipe(k.t)
		k.lists = nil
	case how <= 5: // the version is too old when the program comes
		for range 10 {
			w.change()
		}
		w.compact()
		w.change()
	}
	p := k.start()
	switch {
	case restore && how < 5: // while the program runs
		p.mustSay("open", opened)
		w.wait(300 * time.Millisecond)
		w.restore(2 * time.Second)
		k.total.count("restored")
		k.afterRestore()
	case w.isRestored():
		k.afterRestore()
	case how == 0:
		w.wait(150 * time.Millisecond)
	case how <= 5:
		k.total.count("aimed at a list")
		part := 1 + w.roll(10)
		p.awaitLine(5*time.Second, func(l line) bool {
			if l.What == "part" {
				part--
			}
			return part == 0
		})
		w.wait(2 * time.Millisecond)
	case how <= 7:
		commit := 1 + w.roll(6)
		p.awaitLine(5*time.Second, func(l line) bool {
			if l.What == "commit" {
				commit--
			}
			return commit == 0
		})
		w.wait(5 * time.Millisecond)
	default:
		p.awaitLine(5*time.Second, opened)
		for range w.roll(4) {
			w.wait(300 * time.Millisecond)
			w.server.disturb(w.roll(1000))
		}
		if !restore && w.roll(4) == 0 {
			w.compact() // a backup would go, too
		}
		w.wait(300 * time.Millisecond)
	}
	k.kill(p)
	if restore && how >= 5 { // while no program runs
		w.restore(100 * time.Millisecond)
		k.total.count("restored")
	}
}

// prepareRestore makes a backup, and lets a program see what comes after it.
func (k *killer) prepareRestore() {
	k.learn()
	k.w.save()
	for range 5 + k.w.roll(20) {
		k.w.change()
	}
}

// afterRestore gives the program some time to find out, or all that it needs.
func (k *killer) afterRestore() {
	if k.w.roll(2) == 0 {
		k.w.wait(3 * time.Second)
		return
	}
	k.learned()
}

// learn has a program find out that a backup was restored, if none has.
func (k *killer) learn() {
	if !k.w.isRestored() {
		return
	}
	p := k.start()
	k.learned()
	k.note(p)
	p.kill()
	k.note(p)
}

func (w *world) isRestored() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.restored
}

// learned waits until the table is of the history that the server has now.
func (k *killer) learned() {
	k.t.Helper()
	for limit := time.Now().Add(patience); ; {
		c := k.db.read(k.t)
		k.w.mu.Lock()
		differs, current := k.w.compare(k.db, c, &tally{})
		if differs == "" && current && c.state.Point.Version != "" {
			k.w.restored = false
		}
		done := !k.w.restored
		k.w.mu.Unlock()
		switch {
		case differs != "":
			k.t.Fatalf("after a restored backup: %s", differs)
		case done:
			return
		case time.Now().After(limit):
			k.t.Fatalf("%v after a restored backup, the table is still at version %s of the history before", patience, c.state.Point.Version)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// note remembers the lists that a program has committed.
func (k *killer) note(p *program) {
	lines, _ := p.so()
	for _, l := range lines {
		if l.What == "commit" && l.List && l.Version != "" && l.Version != l.Before {
			k.lists = append(k.lists, [2]string{l.Before, l.Version})
		}
	}
}

// kill kills a program, and compares the table with the server.
func (k *killer) kill(p *program) {
	k.t.Helper()
	select {
	case <-p.ended:
		k.t.Fatalf("the program has ended by itself: %v\n%s", p.err, p.stderr.String())
	default:
	}
	p.kill()
	k.note(p)
	c := k.db.read(k.t)
	lines, _ := p.so()
	p.mu.Lock()
	listing := p.listing
	p.mu.Unlock()
	switch {
	case len(lines) == 0:
		k.total.count("killed before it was open")
	case c.state.Point.Version == "":
		k.total.count("killed in a first list")
	case listing:
		k.total.count("killed in a list")
	default:
		k.total.count("killed between events")
	}
	k.total.count("killed")
	k.check(c)
}

// check compares the table with the server.
func (k *killer) check(c contents) {
	k.t.Helper()
	k.w.mu.Lock()
	differs, current := k.w.compare(k.db, c, k.total)
	if differs == "" && current {
		k.w.restored = false
	} else if differs == "" && !k.w.restored {
		differs = fmt.Sprintf("version %s is of the history before the restored backup again", c.state.Point.Version)
	}
	if differs == "" && k.history && c.opened {
		differs = c.checkHistory(k.lists, k.w.again)
	}
	k.w.mu.Unlock()
	if differs != "" {
		k.total.count("differences")
		k.t.Error(differs)
	}
}

// settle lets a program catch up, after all is quiet.
func (k *killer) settle() {
	k.t.Helper()
	k.learn()
	if k.t.Failed() {
		return
	}
	p := k.start()
	k.w.mu.Lock()
	k.w.put("last", "")
	version := k.w.live["default/last"].version
	k.w.mu.Unlock()
	for limit := time.Now().Add(patience); ; {
		c := k.db.read(k.t)
		if c.opened && c.state.Point.Version != "" && number(k.t, c.state.Point.Version) >= number(k.t, version) {
			break
		}
		if time.Now().After(limit) {
			k.t.Fatalf("the table is at version %s, and the server at %s, after %v", c.state.Point.Version, version, patience)
		}
		<-time.After(50 * time.Millisecond)
	}
	k.note(p)
	p.kill()
	k.check(k.db.read(k.t))
}
