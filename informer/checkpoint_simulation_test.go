package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// TestSimulationOfRestarts plays random histories to processes that follow each other and share a
// file. A process is killed at any moment, and its file is then as it was after any of its saves,
// or one of them was cut at any byte, or damaged. Meanwhile objects change, versions expire, and
// backups are restored. In every third life there are no backups, and some processes cannot decode
// some objects. In the end, the store and what a handler was told are what the server holds.
func TestSimulationOfRestarts(t *testing.T) {
	var tally restarts
	first, last := uint64(0), uint64(max(*seedCount/10, 30)) // a seed takes longer than those of TestSeeds, because it writes files
	if *oneSeed >= 0 {
		first, last = uint64(*oneSeed), uint64(*oneSeed)+1
	}
	for seed := first; seed < last; seed++ {
		synctest.Test(t, func(t *testing.T) { simulateRestarts(t, seed, &tally) })
	}
	t.Logf("%+v", tally)
	if *oneSeed >= 0 {
		return
	}
	if tally.Begun < tally.Processes/3 || tally.Listed == 0 || tally.Damaged == 0 || tally.Restored == 0 || tally.Quarantined == 0 {
		t.Errorf("the simulation shows little: %+v", tally)
	}
}

// restarts counts what the seeds have seen.
type restarts struct{ Processes, Begun, Listed, Damaged, Restored, Quarantined int }

// versions is a file that remembers what was in it after each save.
type versions struct {
	informer.Checkpointer[*thing]

	path string
	all  [][]byte
}

func (v *versions) Save(ctx context.Context, of string, at reflector.Point, objects iter.Seq[*thing]) error {
	err := v.Checkpointer.Save(ctx, of, at, objects)
	if data, readErr := os.ReadFile(v.path); readErr == nil {
		v.all = append(v.all, data)
	}
	return err
}

func simulateRestarts(t *testing.T, seed uint64, tally *restarts) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this was seed %d", seed)
		}
	})
	dice := rand.New(rand.NewPCG(seed, 1))
	key := func() string { return fmt.Sprint("ns/", dice.IntN(6)) }
	f := newFake(key(), key(), key(), "ns/always") // a first list needs one object that can be decoded
	undecodable := seed%3 == 0
	path := filepath.Join(t.TempDir(), "things")
	change := func() {
		if dice.IntN(3) == 0 {
			f.Remove(key())
		} else {
			f.set(key(), dice.IntN(1000))
		}
	}
	type backup struct {
		version int
		objects []*thing
	}
	var backups []backup
	for process := range 5 {
		tally.Processes++
		f.Bad = nil
		if undecodable && process < 4 && dice.IntN(3) > 0 {
			f.Bad = isOdd
		}
		file := &versions{Checkpointer: checkpoint.File[*thing](path, checkpoint.Options{}), path: path}
		before := f.Lists()
		r := newRig(t, f, informer.Options[*thing]{Checkpoint: file, CheckpointEvery: time.Duration(1+dice.IntN(20)) * time.Second})
		told := &fold{t: t, name: "the handler", store: r.Store(), single: true, saved: true, copy: map[string]*thing{}, tally: func(string) {}}
		told.mu.Lock() // a callback may be called before the registration is known
		told.reg = r.add(told.handler(0))
		told.mu.Unlock()
		r.start()
		if f.Lists() == before {
			tally.Begun++
		}
		for range dice.IntN(30) {
			switch dice.IntN(8) {
			case 0:
				f.Gap(change)
			case 1, 2:
				later(time.Duration(dice.IntN(9000)) * time.Millisecond)
			case 3:
				f.Bookmark()
			case 4:
				if undecodable {
					if err := r.Relist(t.Context()); err != nil {
						t.Error(err)
					}
					continue
				}
				synctest.Wait()
				version, objects := f.Backup()
				backups = append(backups, backup{version, objects})
				// Something is made after each backup, and stays: if the only difference were a
				// deletion that no program has seen, none could find out.
				f.set(fmt.Sprint("ns/after-", version), 0)
			default:
				change()
			}
		}
		if process == 4 || dice.IntN(3) == 0 {
			later(time.Hour)
			tally.Quarantined += r.agreeButForQuarantine()
			told.holds("at rest", r.Store().List())
		}
		r.end()
		tally.Listed += f.Lists() - before
		killed(t, dice, file, tally)
		for range dice.IntN(6) {
			change()
		}
		switch dice.IntN(6) {
		case 0:
			f.Gap(change)
		case 1:
			if len(backups) > 0 {
				b := backups[dice.IntN(len(backups))]
				f.Restore(b.version, b.objects...)
				backups = nil
				for range 1 + dice.IntN(40) {
					// No object of the old history changes, so that a history check has something
					// to find.
					f.set(fmt.Sprintf("ns/restored-%d-%d", process, dice.IntN(3)), dice.IntN(1000))
				}
				tally.Restored++
			}
		}
	}
}

var errOdd = errors.New("odd")

func isOdd(obj *thing) error {
	if obj.Value%2 == 1 {
		return errOdd
	}
	return nil
}

// agreeButForQuarantine fails unless each object of the store is what the server holds, and the
// other way round. In quarantine is only what cannot be decoded; the store may have it from
// earlier. It returns how many there are.
func (r *rig) agreeButForQuarantine() int {
	r.t.Helper()
	synctest.Wait()
	bad := map[string]bool{}
	for _, q := range r.Status().Quarantined {
		bad[q.Meta.Key] = true
		if obj, ok := r.fake.Get(q.Meta.Key); !ok || r.fake.Bad == nil || r.fake.Bad(obj) == nil {
			r.t.Errorf("%s is in quarantine, and the server has %v", q.Meta.Key, obj)
		}
	}
	but := func(items []*thing) []string {
		return describe(slices.DeleteFunc(slices.Clone(items), func(obj *thing) bool { return bad[object.Key(obj)] }))
	}
	if got, want := but(r.Store().List()), but(r.fake.Objects()); !slices.Equal(got, want) {
		r.t.Errorf("store holds\n\t%q\nserver\n\t%q\nand in quarantine are %v", got, want, bad)
	}
	return len(bad)
}

// killed leaves the file as a process does that is killed at some moment, or as a disk does that
// fails.
func killed(t *testing.T, dice *rand.Rand, file *versions, tally *restarts) {
	if len(file.all) == 0 {
		return
	}
	data := slices.Clone(file.all[dice.IntN(len(file.all))])
	switch dice.IntN(6) {
	case 0:
		data = data[:dice.IntN(len(data))]
		tally.Damaged++
	case 1:
		data[dice.IntN(len(data))] ^= byte(1 + dice.IntN(255))
		tally.Damaged++
	default: // the copy is as good as it was
	}
	must.OK(t, os.WriteFile(file.path, data, fs.FileMode(0o600)))
}
