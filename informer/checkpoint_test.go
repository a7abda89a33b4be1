package informer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
)

// saving is an informer with a checkpoint in a file, and a diary.
func saving(t *testing.T, f *fake, path string, change ...func(*informer.Options[*thing])) (*rig, *diary) {
	t.Helper()
	opts := informer.Options[*thing]{Checkpoint: checkpoint.File[*thing](path, checkpoint.Options{})}
	for _, c := range change {
		c(&opts)
	}
	r, d := newRig(t, f, opts), &diary{}
	r.add(d.handler())
	return r, d
}

// end stops a rig, and waits until Run has returned.
func (r *rig) end() {
	r.t.Helper()
	r.stop()
	err := <-r.done
	if !errors.Is(err, context.Canceled) {
		r.t.Errorf("Run returned %v", err)
	}
	r.done <- err // for start's cleanup
}

// The next process serves what the last one had before the server has said anything, and gets what
// has happened since as events.
func TestBeginsWithWhatWasSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things")
		f := newFake("ns/a", "ns/b")
		first, d := saving(t, f, path)
		first.start()
		d.expect(t, "add ns/a=0 initial; add ns/b=0 initial")
		f.set("ns/a", 1)
		d.expect(t, "update ns/a=0->1")
		first.end()

		f.Fail(errors.New("away"))
		f.set("ns/c", 3)
		f.Remove("ns/b")
		later(time.Hour)
		second, d := saving(t, f, path)
		second.start()
		d.expect(t, "add ns/a=1 initial; add ns/b=0 initial")
		if age := second.Status().Staleness(time.Now()); age < time.Hour || age > time.Hour+time.Minute {
			t.Errorf("the copy is an hour old, and its staleness %v", age)
		}
		if !closed(second.Loaded()) || second.HasSynced() || second.Store().Len() != 2 || second.Store().ResourceVersion() != "3" {
			t.Errorf("loaded %v, synced %v, %d objects at %q", closed(second.Loaded()), second.HasSynced(), second.Store().Len(), second.Store().ResourceVersion())
		}
		f.Fail(nil)
		later(time.Minute)
		d.expect(t, "add ns/c=3; delete ns/b=0")
		if !second.HasSynced() || f.Lists() != 1 {
			t.Errorf("synced %v after %d lists, want 1", second.HasSynced(), f.Lists())
		}
		second.agree()
	})
}

// keeper is a Checkpointer in memory.
type keeper struct {
	hold chan struct{} // Save waits for it, if it is not nil

	mu sync.Mutex
	memory
}

// memory is what a keeper has.
type memory struct {
	objects []*thing
	at      reflector.Point
	of      []string
	saves   int
	err     error // of Load and Save
}

func (k *keeper) look() memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.memory
}

func (k *keeper) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

func (k *keeper) Load(_ context.Context, of string) ([]*thing, reflector.Point, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of = append(k.of, of)
	return k.objects, k.at, k.err
}

func (k *keeper) Save(ctx context.Context, of string, at reflector.Point, objects iter.Seq[*thing]) error {
	k.mu.Lock()
	k.of = append(k.of, of)
	k.saves++
	k.mu.Unlock()
	if k.hold != nil {
		select {
		case <-k.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	k.at, k.objects = at, nil
	for obj := range objects {
		k.objects = append(k.objects, obj)
	}
	return nil
}

func kept(k *keeper, every time.Duration, logger *slog.Logger) informer.Options[*thing] {
	return informer.Options[*thing]{Checkpoint: k, CheckpointEvery: every, Logger: logger}
}

// The first list is saved at once, then the store is saved every period in which something came,
// and when Run ends.
func TestWhenACopyIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, k := newFake("ns/a"), &keeper{}
		r := newRig(t, f, kept(k, time.Minute, nil))
		r.start()
		expect := func(saves int, version string, objects int) {
			t.Helper()
			synctest.Wait()
			if is := k.look(); is.saves != saves || is.at.Version != version || len(is.objects) != objects {
				t.Errorf("%d saves, the last at %q with %d objects; want %d, %q and %d", is.saves, is.at.Version, len(is.objects), saves, version, objects)
			}
		}
		expect(1, "1", 1)
		f.set("ns/b", 1)
		expect(1, "1", 1)
		later(time.Minute)
		expect(2, "2", 2)
		later(10 * time.Minute)
		expect(2, "2", 2)
		f.set("ns/c", 1)
		synctest.Wait()
		r.end()
		expect(3, "3", 3)

		r = newRig(t, f, kept(k, -1, nil))
		r.start()
		later(time.Hour)
		expect(3, "3", 3)
		f.Remove("ns/c")
		synctest.Wait()
		r.end()
		expect(4, "4", 2)
		for _, of := range k.look().of {
			if of != k.of[0] || !strings.Contains(of, `"type":"*informer_test.thing"`) {
				t.Errorf("a copy of %s, and of %s", k.of[0], of)
			}
		}
	})
}

// While a copy is being saved, everything continues; and a save that hangs does not keep Run from
// ending.
func TestSavingStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, k := newFake("ns/a"), &keeper{hold: make(chan struct{})}
		r := newRig(t, f, kept(k, time.Minute, nil))
		d := &diary{}
		r.add(d.handler())
		r.start()
		for range 10 {
			f.set("ns/a", 1)
			later(time.Minute)
		}
		r.agree()
		if n := k.look().saves; n != 1 {
			t.Errorf("%d saves at a time", n)
		}
		began := time.Now()
		r.end()
		if took := time.Since(began); took != 20*time.Second || k.look().saves != 2 {
			t.Errorf("Run took %v to end, with save number %d", took, k.look().saves)
		}
	})
}

// A copy that cannot be loaded or saved is reported, once a state, and costs nothing else.
func TestTroubleWithCopiesIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f, k := newFake("ns/a"), &keeper{memory: memory{err: errors.New("disk on fire")}}
		r := newRig(t, f, kept(k, time.Minute, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		r.start()
		for range 3 {
			f.set("ns/a", 1)
			later(time.Minute)
		}
		r.agree()
		if got := strings.Count(log.String(), "disk on fire"); got != 2 || k.look().saves != 4 {
			t.Errorf("after %d saves the log is\n%s", k.look().saves, log.String())
		}
		k.fail(nil)
		f.set("ns/a", 2)
		later(time.Minute)
		if is := k.look(); len(is.objects) != 1 || is.objects[0].Value != 2 {
			t.Errorf("saved %v", describe(is.objects))
		}
		r.end()
	})
}

// The last save takes longer than Run waits for it. The next process begins with an older copy, and
// the log says why.
func TestLastSaveThatHangsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f, k := newFake("ns/a"), &keeper{}
		r := newRig(t, f, kept(k, time.Minute, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		r.start()
		k.hold = make(chan struct{})
		f.set("ns/a", 1)
		synctest.Wait()
		r.end()
		if n := strings.Count(log.String(), "relist: the copy could not be saved"); n != 1 {
			t.Errorf("the log says %d times that the last copy was not saved, want once:\n%s", n, log.String())
		}
	})
}

// A file that was damaged is not used, and the next save replaces it.
func TestDamagedFileIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things")
		must.OK(t, os.WriteFile(path, []byte("relist checkpoint 1\nand then something else"), 0o600))
		f := newFake("ns/a")
		r, d := saving(t, f, path)
		r.start()
		d.expect(t, "add ns/a=0 initial")
		r.end()
		again, d := saving(t, f, path)
		again.start()
		d.expect(t, "add ns/a=0 initial")
		if f.Lists() != 1 {
			t.Errorf("%d lists", f.Lists())
		}
	})
}

// The store is never saved with changes that are newer than the point: a server that is restored to
// a state between the two would not send them again, and nobody would ask.
func TestStoreIsSavedAtAPointOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, k := newFake("ns/a"), &keeper{}
		opts := kept(k, 10*time.Second, nil)
		release := make(chan struct{})
		opts.Reflector.Trace = &reflector.Trace{Event: func(reflector.Event) { <-release }} // the queue has the event, and the point is the old one
		r := newRig(t, f, opts)
		r.start()
		f.set("ns/a", 1)
		later(30 * time.Second)
		r.agree()
		if is := k.look(); is.saves != 1 || is.at.Version != "1" {
			t.Errorf("%d saves, the last at %q, while the reflector was in the middle of an event", is.saves, is.at.Version)
		}
		close(release)
		synctest.Wait()
		if is := k.look(); is.saves != 2 || is.at.Version != "2" || is.objects[0].Value != 1 {
			t.Errorf("%d saves, the last at %q with %q", is.saves, is.at.Version, describe(is.objects))
		}
	})
}

// With Stop, handlers are told all that the saved copy has, also what waited in the queue.
func TestStopTellsWhatItSaves(t *testing.T) {
	for _, settled := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "things")
			f := newFake("ns/a")
			in := informer.New(f, informer.Options[*thing]{Checkpoint: checkpoint.File[*thing](path, checkpoint.Options{}), Logger: silent})
			var mu sync.Mutex
			told := map[string]int{}
			set := func(obj *thing) {
				mu.Lock()
				defer mu.Unlock()
				told[obj.Name] = obj.Value
			}
			if _, err := in.AddHandler(informer.Handler[*thing]{
				OnAdd:    func(obj *thing, _ bool) { <-time.After(time.Millisecond); set(obj) },
				OnUpdate: func(_, obj *thing) { <-time.After(time.Millisecond); set(obj) },
			}); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- in.Run(t.Context()) }()
			synctest.Wait()
			for i := range 50 {
				f.set(fmt.Sprint("ns/", i%7), i)
			}
			if settled {
				synctest.Wait()
			}
			must.OK(t, in.Stop(t.Context()))
			if err := <-done; err != nil {
				t.Errorf("Run returned %v after Stop", err)
			}
			next, _ := saving(t, f, path)
			f.Fail(errors.New("away"))
			next.start()
			for _, obj := range next.Store().All() {
				if value, ok := told[obj.Name]; !ok || value != obj.Value {
					t.Errorf("%s was saved as %d, and the handler was told %d (%v)", obj.Name, obj.Value, value, ok)
				}
			}
			if next.Store().Len() != len(told) {
				t.Errorf("%d objects were saved, and the handler was told of %d", next.Store().Len(), len(told))
			}
		})
	}
}
